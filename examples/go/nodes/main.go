// Registers a node, sends its heartbeats, and prints which nodes hold a key, until SIGTERM.
//
// usage: nodes SERVERS ID ADDRESS PORT KEY
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"examples/client"
	pb "muster/v1"
)

// As often as servers expect by default; their limits allow 10 a minute.
const heartbeat = 10 * time.Second

type node struct {
	servers *client.Servers
	info    *pb.NodeInfo
}

func (n *node) ask(call func(context.Context, pb.CoordinatorServiceClient, grpc.CallOption) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return n.servers.Ask(ctx, func(ctx context.Context, server *grpc.ClientConn, trailer grpc.CallOption) error {
		return call(ctx, pb.NewCoordinatorServiceClient(server), trailer)
	})
}

// register makes a process of the node known: another generation each time, as the work of the last one may have moved.
func (n *node) register() error {
	n.info.GenerationId = client.UUID()
	return n.ask(func(ctx context.Context, stub pb.CoordinatorServiceClient, trailer grpc.CallOption) error {
		_, err := stub.RegisterNode(ctx, &pb.RegisterNodeRequest{Node: n.info}, trailer)
		return err
	})
}

func (n *node) beat() error {
	return n.ask(func(ctx context.Context, stub pb.CoordinatorServiceClient, trailer grpc.CallOption) error {
		_, err := stub.Heartbeat(ctx, &pb.HeartbeatRequest{NodeId: n.info.Id, GenerationId: n.info.GenerationId,
			ReportedState: pb.NodeState_NODE_STATE_ACTIVE}, trailer)
		return err
	})
}

func (n *node) deregister() error {
	return n.ask(func(ctx context.Context, stub pb.CoordinatorServiceClient, trailer grpc.CallOption) error {
		_, err := stub.DeregisterNode(ctx, &pb.DeregisterNodeRequest{NodeId: n.info.Id,
			GenerationId: n.info.GenerationId}, trailer)
		return err
	})
}

// owners returns the ids of the nodes that hold the key, the primary first.
func (n *node) owners(key string) (ids []string, err error) {
	err = n.ask(func(ctx context.Context, stub pb.CoordinatorServiceClient, trailer grpc.CallOption) error {
		seen, err := stub.GetTopology(ctx, &pb.GetTopologyRequest{Linearizable: true}, trailer)
		if err != nil {
			return err
		}
		weights := map[string]uint32{}
		for _, each := range append(append(seen.FrontendNodes, seen.MetadataNodes...), seen.ObjectNodes...) {
			if each.State == pb.NodeState_NODE_STATE_ACTIVE || each.State == pb.NodeState_NODE_STATE_SUSPECT {
				weights[each.Id] = each.Weight
			}
		}
		config := seen.HashRingConfig
		ids = client.NewRing(weights, config.VirtualNodesPerPhysical, int(config.ReplicationFactor)).Owners(key)
		return nil
	})
	return ids, err
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	servers, err := client.Dial(os.Args[1])
	must(err)
	port, err := strconv.ParseUint(os.Args[4], 10, 16)
	must(err)
	n := &node{servers, &pb.NodeInfo{Id: os.Args[2], Address: os.Args[3], Port: uint32(port),
		Type: pb.NodeType_NODE_TYPE_OBJECT}}
	ended, _ := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	must(n.register())
	for ended.Err() == nil {
		switch err := n.beat(); status.Code(err) {
		case codes.OK:
			ids, err := n.owners(os.Args[5])
			must(err)
			fmt.Println(os.Args[5], "is at", strings.Join(ids, ", "))
		case codes.NotFound:
			must(n.register()) // It was silent for too long, and was removed.
			continue
		default:
			must(err) // Another process has its place, perhaps: this one must stop.
		}
		select {
		case <-time.After(heartbeat):
		case <-ended.Done():
		}
	}
	if err := n.deregister(); status.Code(err) != codes.NotFound {
		must(err)
	}
}
