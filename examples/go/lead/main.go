// Leads an election at musterd: prints its token while it may work, until SIGTERM.
//
// usage: lead SERVERS NAME ID
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"examples/client"
	pb "muster/v1"
)

const lease = 15 * time.Second

// A candidate leads `epoch` while its lease is valid.
type candidate struct {
	servers *client.Servers
	ended   context.Context
	hello   *pb.CampaignHello
	lease   client.Lease
	epoch   uint64
	stop    context.CancelFunc // Asks the work to stop.
	done    chan struct{}      // Closed when the work has ended; nil: there is none.
}

// work is what only the leader may do. What must never happen twice carries the token along.
func (c *candidate) work(asked context.Context, token uint64, done chan struct{}) {
	defer close(done)
	for asked.Err() == nil && c.lease.Valid(client.Now()) {
		fmt.Println("working, token", token)
		time.Sleep(100 * time.Millisecond)
	}
	fmt.Println("stopped, token", token)
}

func (c *candidate) begin(epoch uint64) {
	var asked context.Context
	asked, c.stop = context.WithCancel(context.Background())
	c.epoch, c.done = epoch, make(chan struct{})
	go c.work(asked, epoch, c.done)
}

// finish asks the work to stop, and waits until it has.
func (c *candidate) finish() {
	if c.done != nil {
		c.stop()
		<-c.done
		c.done = nil
	}
}

// campaign takes part at one server until the stream ends. A term goes on at the next server if the lease holds.
func (c *candidate) campaign() error {
	if !c.lease.Valid(client.Now()) {
		c.finish()
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stream, err := pb.NewElectionServiceClient(c.servers.Current()).Campaign(ctx)
	if err != nil {
		return err
	}
	c.hello.ResumeEpoch = 0
	if c.done != nil {
		c.hello.ResumeEpoch = c.epoch
	}
	c.lease.NewStream()
	c.lease.Sent(0, client.Now())
	if err := stream.Send(&pb.CampaignRequest{Kind: &pb.CampaignRequest_Hello{Hello: c.hello}}); err != nil {
		return err
	}
	resign := func(prefer string, stay bool) {
		c.finish()
		_ = stream.Send(&pb.CampaignRequest{Kind: &pb.CampaignRequest_Resign{
			Resign: &pb.CampaignResign{Prefer: prefer, Stay: stay}}}) // A broken stream ends in Recv().
	}
	answers, failed := make(chan *pb.CampaignResponse), make(chan error, 1)
	go func() {
		for {
			answer, err := stream.Recv()
			if err != nil {
				failed <- err
				return
			}
			select {
			case answers <- answer:
			case <-ctx.Done():
				return
			}
		}
	}()
	beats, silence, ended := time.NewTicker(lease/3), time.NewTimer(lease/2), c.ended.Done()
	defer beats.Stop()
	for beat := uint64(1); ; {
		select {
		case err := <-failed:
			return err
		case <-silence.C:
			return errors.New("the server says nothing")
		case <-beats.C:
			c.lease.Sent(beat, client.Now())
			_ = stream.Send(&pb.CampaignRequest{Kind: &pb.CampaignRequest_Beat{Beat: &pb.CampaignBeat{Number: beat}}})
			beat++
		case <-ended:
			ended = nil
			resign("", false)
		case answer := <-answers:
			silence.Reset(lease / 2)
			now, lost := client.Now(), answer.GetLost() != nil
			if granted := answer.GetGranted(); granted != nil {
				if lost = !c.lease.Grant(granted.Beat, granted.LeftMs, now); !lost {
					c.begin(granted.Epoch)
				}
			} else if renewed := answer.GetRenewed(); renewed != nil && c.done != nil {
				lost = renewed.Epoch != c.epoch || !c.lease.Renew(renewed.Beat, renewed.LeftMs, now)
			} else if told := answer.GetGiveUp(); told != nil {
				resign(told.Prefer, true) // An operator wants another leader.
			} else if answer.GetResigned() != nil && ended == nil {
				return nil
			}
			if lost { // Nothing revives the term: another stream begins anew.
				c.finish()
				return nil
			}
		}
	}
}

func main() {
	servers, err := client.Dial(os.Args[1])
	if err != nil {
		panic(err)
	}
	ended, _ := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	c := &candidate{servers: servers, ended: ended, hello: &pb.CampaignHello{Name: os.Args[2], Id: os.Args[3],
		Session: client.UUID(), LeaseMs: uint32(lease / time.Millisecond)}}
	for ended.Err() == nil {
		switch err := c.campaign(); status.Code(err) {
		case codes.InvalidArgument, codes.PermissionDenied, codes.Unauthenticated, codes.Unimplemented:
			panic(err)
		}
		servers.Next()
		time.Sleep(100 * time.Millisecond)
	}
	c.finish()
}
