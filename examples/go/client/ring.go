package client

import (
	"crypto/sha256"
	"encoding/binary"
	"sort"
)

// A node has at most this many virtual nodes.
const virtualNodesMax = 1 << 20

// Ring places keys on nodes, as docs/formats.md describes it.
type Ring struct {
	points      []point
	replication int
}

type point struct {
	at uint64
	id string
}

func position(data []byte) uint64 {
	digest := sha256.Sum256(data)
	return binary.LittleEndian.Uint64(digest[:8])
}

// NewRing takes the weight of each node that is ACTIVE or SUSPECT, by its id.
func NewRing(weights map[string]uint32, virtualNodes uint32, replication int) *Ring {
	ring := &Ring{replication: replication}
	for id, weight := range weights {
		count := uint64(weight) * uint64(virtualNodes)
		for index := uint64(0); index < count && index < virtualNodesMax; index++ {
			bytes := append([]byte(id), 0, 0, 0, 0)
			binary.LittleEndian.PutUint32(bytes[len(id):], uint32(index))
			ring.points = append(ring.points, point{position(bytes), id})
		}
	}
	sort.Slice(ring.points, func(a, b int) bool {
		if ring.points[a].at != ring.points[b].at {
			return ring.points[a].at < ring.points[b].at
		}
		return ring.points[a].id < ring.points[b].id
	})
	return ring
}

// Owners returns the nodes that hold the key, the primary first; fewer when there are no more.
func (r *Ring) Owners(key string) []string {
	wanted := position([]byte(key))
	first := sort.Search(len(r.points), func(i int) bool { return r.points[i].at >= wanted })
	owners := []string{}
	found := map[string]bool{}
	for step := 0; step < len(r.points) && len(owners) < r.replication; step++ {
		if id := r.points[(first+step)%len(r.points)].id; !found[id] {
			found[id] = true
			owners = append(owners, id)
		}
	}
	return owners
}
