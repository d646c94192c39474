// Holds a lock of musterd: prints its token while it may work, until SIGTERM.
//
// usage: lock SERVERS NAME
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"google.golang.org/grpc"

	"examples/client"
	pb "muster/v1"
)

const ttl = 6 * time.Second

// A holder may work under `token` while its lease is valid.
type holder struct {
	servers *client.Servers
	name    string
	session string
	handle  string
	token   uint64
	lease   client.Lease
	beat    uint64
}

// acquire waits until the lock is held. An answer without it comes now and then, to show that the servers are there.
func (h *holder) acquire(ctx context.Context) error {
	for {
		var answer *pb.LockAcquireResponse
		h.beat++
		err := h.servers.Ask(ctx, func(ctx context.Context, server *grpc.ClientConn, trailer grpc.CallOption) (err error) {
			h.lease.Sent(h.beat, client.Now())
			answer, err = pb.NewLockServiceClient(server).Acquire(ctx, &pb.LockAcquireRequest{Name: h.name,
				Session: h.session, TtlMs: uint32(ttl / time.Millisecond), WaitMs: 60000}, trailer)
			return err
		})
		if err != nil {
			return err // ABORTED: it was held by others for all of the time.
		}
		if !answer.Waiting && h.lease.Grant(h.beat, answer.LeftMs, client.Now()) {
			h.token, h.handle = answer.Token, answer.Handle
			return nil
		}
	}
}

// renew is false once the lock is lost.
func (h *holder) renew() bool {
	left := h.lease.Deadline() - client.Now()
	ctx, cancel := context.WithTimeout(context.Background(), left)
	defer cancel()
	var answer *pb.LockRenewResponse
	h.beat++
	err := h.servers.Ask(ctx, func(ctx context.Context, server *grpc.ClientConn, trailer grpc.CallOption) (err error) {
		h.lease.Sent(h.beat, client.Now())
		answer, err = pb.NewLockServiceClient(server).Renew(ctx,
			&pb.LockRenewRequest{Name: h.name, Session: h.session, Handle: h.handle}, trailer)
		return err
	})
	return err == nil && h.lease.Renew(h.beat, answer.LeftMs, client.Now())
}

func (h *holder) release() error {
	ctx, cancel := context.WithTimeout(context.Background(), ttl)
	defer cancel()
	return h.servers.Ask(ctx, func(ctx context.Context, server *grpc.ClientConn, trailer grpc.CallOption) error {
		_, err := pb.NewLockServiceClient(server).Release(ctx,
			&pb.LockReleaseRequest{Name: h.name, Session: h.session, Handle: h.handle}, trailer)
		return err
	})
}

func main() {
	servers, err := client.Dial(os.Args[1])
	if err != nil {
		panic(err)
	}
	ended, _ := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	h := &holder{servers: servers, name: os.Args[2], session: client.UUID()}
	h.lease.NewStream()
	if err := h.acquire(ended); err != nil {
		panic(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ended.Err() == nil && h.lease.Valid(client.Now()) {
			fmt.Println("holding, token", h.token) // The token goes along to what must not be done twice.
			time.Sleep(100 * time.Millisecond)
		}
	}()
	for working := true; working; {
		select {
		case <-time.After(ttl / 3):
			if !h.renew() {
				<-done // The work ends with the lease, and nothing revives that.
				fmt.Println("lost")
				os.Exit(1)
			}
		case <-done:
			working = false
		}
	}
	if err := h.release(); err != nil {
		fmt.Fprintln(os.Stderr, "not released, so it ends with its ttl:", err)
	}
}
