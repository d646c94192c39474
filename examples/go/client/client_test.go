// What this package computes is what every language computes. MUSTER_VECTORS names bindings/vectors.json.
package client

import (
	"encoding/json"
	"os"
	"reflect"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
)

type vectors struct {
	Ring []struct {
		VirtualNodes uint32 `json:"virtual_nodes"`
		Replication  int
		Weights      map[string]uint32
		Owners       map[string][]string
	}
	Leases []struct {
		SentMs     int64  `json:"sent_ms"`
		LeftMs     uint64 `json:"left_ms"`
		DeadlineMs int64  `json:"deadline_ms"`
	}
	Terms []struct {
		Title string
		Steps []struct {
			AtMs   int64 `json:"at_ms"`
			Send   *uint64
			Answer *uint64
			LeftMs uint64 `json:"left_ms"`
			Valid  bool
		}
	}
	Errors []struct {
		Code          codes.Code
		Answered      bool
		LeaderAddress bool `json:"leader_address"`
		Read, Write   string
	}
}

func read(t *testing.T) (read vectors) {
	text, err := os.ReadFile(os.Getenv("MUSTER_VECTORS"))
	if err == nil {
		err = json.Unmarshal(text, &read)
	}
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func ms(count int64) time.Duration { return time.Duration(count) * time.Millisecond }

func TestRing(t *testing.T) {
	cases := read(t).Ring
	if len(cases) < 6 {
		t.Fatal("cases are missing")
	}
	for _, each := range cases {
		ring := NewRing(each.Weights, each.VirtualNodes, each.Replication)
		for key, owners := range each.Owners {
			if found := ring.Owners(key); !reflect.DeepEqual(found, owners) {
				t.Errorf("%q is at %v, not %v", key, found, owners)
			}
		}
	}
}

func TestLeases(t *testing.T) {
	for _, each := range read(t).Leases {
		lease := Lease{}
		lease.NewStream()
		lease.Sent(0, ms(each.SentMs))
		if !lease.Grant(0, each.LeftMs, ms(each.SentMs+1)) || lease.Deadline() != ms(each.DeadlineMs) {
			t.Errorf("%v: %v", each, lease.Deadline())
		}
	}
}

func TestTerms(t *testing.T) {
	for _, each := range read(t).Terms {
		lease, answered := Lease{}, false
		lease.NewStream()
		for _, step := range each.Steps {
			now := ms(step.AtMs)
			if step.Send != nil {
				lease.Sent(*step.Send, now)
			} else if step.Answer == nil {
				left := lease.Deadline() - now
				if lease.Valid(now) != step.Valid || step.Valid && left != ms(int64(step.LeftMs)) {
					t.Errorf("%s: at %d it has %v", each.Title, step.AtMs, left)
				}
			} else if answered {
				lease.Renew(*step.Answer, step.LeftMs, now)
			} else {
				lease.Grant(*step.Answer, step.LeftMs, now)
				answered = true
			}
		}
	}
}

func TestErrors(t *testing.T) {
	cases := read(t).Errors
	if len(cases) < 30 {
		t.Fatal("cases are missing")
	}
	for _, each := range cases {
		for _, writes := range []bool{false, true} {
			wanted := map[bool]string{false: each.Read, true: each.Write}[writes]
			if found := Meaning(each.Code, each.Answered, each.LeaderAddress, writes); found != wanted {
				t.Errorf("%v: %s, not %s", each, found, wanted)
			}
		}
	}
}

func TestTheClockRises(t *testing.T) {
	before := Now()
	time.Sleep(20 * time.Millisecond)
	if passed := Now() - before; passed < 20*time.Millisecond || passed > 10*time.Second {
		t.Error(passed)
	}
}
