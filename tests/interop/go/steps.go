package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding/gzip"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	reflection "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/grpc/status"

	pb "muster/v1"
)

func unary() string {
	answer, err := coordinator.RegisterNode(context.Background(), &pb.RegisterNodeRequest{Node: node(1)})
	must(err)
	expect(answer.TopologyVersion == 1, answer)
	seen, err := coordinator.GetTopology(context.Background(), &pb.GetTopologyRequest{Linearizable: true})
	must(err)
	expect(len(seen.ObjectNodes) == 1 && seen.ObjectNodes[0].Id == "n1", seen)
	return ""
}

func deadlineMet() string {
	must(check())
	return ""
}

func serverStream() string {
	context, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	watch, err := coordinator.WatchTopology(context, &pb.WatchTopologyRequest{})
	must(err)
	first, err := watch.Recv()
	must(err)
	expect(first.GetFullSync() != nil, first)
	_, err = coordinator.RegisterNode(soon(), &pb.RegisterNodeRequest{Node: node(2)})
	must(err)
	change, err := watch.Recv()
	must(err)
	expect(change.GetNodeAdded() != nil && change.GetNodeAdded().Id == "n2", change)
	return ""
}

// bidirectionalStream has each message wait for the answer to the one before.
func bidirectionalStream() string {
	stream, err := coordinator.HeartbeatStream(soon())
	must(err)
	for known := uint64(0); known < 3; known++ {
		must(stream.Send(beats(known)))
		answer, err := stream.Recv()
		must(err)
		expect(answer.LeaderId == "s1" && len(answer.Refused) == 0, answer)
	}
	must(stream.CloseSend())
	_, err = stream.Recv()
	expect(err == io.EOF, err)
	return ""
}

// halfClose sends everything and ends the request before it reads an answer.
func halfClose() string {
	stream, err := coordinator.HeartbeatStream(soon())
	must(err)
	for i := 0; i < 100; i++ {
		must(stream.Send(beats(0)))
	}
	must(stream.CloseSend())
	for i := 0; i < 100; i++ {
		_, err = stream.Recv()
		must(err)
	}
	_, err = stream.Recv()
	expect(err == io.EOF, err)
	return ""
}

func cancellation() string {
	context, cancel := context.WithCancel(context.Background())
	watch, err := coordinator.WatchTopology(context, &pb.WatchTopologyRequest{})
	must(err)
	_, err = watch.Recv()
	must(err)
	awaitSubscribers(1)
	cancel()
	_, err = watch.Recv()
	refused(err, codes.Canceled)
	awaitSubscribers(0)
	return ""
}

func deadlineExceeded() string {
	context, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	watch, err := coordinator.WatchTopology(context, &pb.WatchTopologyRequest{})
	for err == nil {
		_, err = watch.Recv()
	}
	refused(err, codes.DeadlineExceeded)
	awaitSubscribers(0)
	return ""
}

// allBytes are about 6 KB of metadata, any byte in one of them; and the name of the request, which
// the server logs.
func allBytes() string {
	sent := metadata.Pairs("muster-request-id", "interop-request")
	for number := 0; number < 45; number++ {
		sent.Set(fmt.Sprint("x-interop-", number), strings.Repeat("v", 60))
	}
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	sent.Set("x-interop-bin", string(every))
	_, err := store.Put(metadata.NewOutgoingContext(soon(), sent), &pb.StorePutRequest{Key: "metadata"})
	must(err)
	return ""
}

func metadataOverLimit() string {
	long := metadata.AppendToOutgoingContext(soon(), "x-interop", strings.Repeat("v", 12000))
	_, err := coordinator.HealthCheck(long, &pb.HealthCheckRequest{})
	expect(err != nil, "the call was not refused")
	must(check())
	return strings.ToUpper(status.Code(err).String())
}

// putAll has one batch performed by `client`.
func putAll(client pb.StoreServiceClient, batch *pb.StorePutBatch) ([]*pb.StorePutOutcome, error) {
	stream, err := client.PutStream(soon())
	must(err)
	// An error of Send is io.EOF: what the server said comes from Recv.
	if err := stream.Send(batch); err == nil {
		must(stream.CloseSend())
	}
	var outcomes []*pb.StorePutOutcome
	for {
		answer, err := stream.Recv()
		if err == io.EOF {
			return outcomes, nil
		}
		if err != nil {
			return nil, err
		}
		outcomes = append(outcomes, answer.Outcomes...)
	}
}

func largeRequest() string {
	outcomes, err := putAll(store, puts(8))
	must(err)
	expect(len(outcomes) == 8, outcomes)
	for _, each := range outcomes {
		expect(each.Code == 0, each)
	}
	return ""
}

func largeAnswer() string {
	seen, after := 0, ""
	for {
		page, err := store.List(soon(), &pb.StoreListRequest{Prefix: "large/", After: after, WithValues: true})
		must(err)
		for _, each := range page.Objects {
			expect(bytes.Equal(each.Value, value), each.Key)
			after = each.Key
			seen++
		}
		if !page.More {
			expect(seen == 8, seen)
			return ""
		}
	}
}

func tooLargeRequest() string {
	_, err := putAll(store, puts(9))
	refused(err, codes.ResourceExhausted)
	must(check())
	return ""
}

func compressedRequest() string {
	_, err := store.Put(soon(), &pb.StorePutRequest{Key: "gzip", Value: value}, grpc.UseCompressor(gzip.Name))
	refused(err, codes.Unimplemented)
	expect(strings.Contains(err.Error(), "identity"), err)
	return ""
}

func notFound() string {
	var trailer metadata.MD
	_, err := store.Get(soon(), &pb.StoreGetRequest{Key: "no/such"}, grpc.Trailer(&trailer))
	refused(err, codes.NotFound)
	expect(status.Convert(err).Message() != "", err)
	expect(strings.Join(trailer.Get("muster-server"), ",") == "s1", trailer)
	return ""
}

func invalidArgument() string {
	wrong := node(1)
	wrong.Id = "100% wrong"
	_, err := coordinator.RegisterNode(soon(), &pb.RegisterNodeRequest{Node: wrong})
	refused(err, codes.InvalidArgument)
	expect(strings.Contains(err.Error(), `node id "100% wrong" must be`), err)
	return ""
}

func leaderAddress() string {
	other := open(standby, true)
	defer other.Close()
	stream, err := pb.NewStoreServiceClient(other).PutStream(soon())
	must(err)
	stream.Send(puts(1)) // What the server says to it comes from Recv.
	_, err = stream.Recv()
	refused(err, codes.FailedPrecondition)
	expect(strings.Join(stream.Trailer().Get("leader-address"), ",") == server, stream.Trailer())
	expect(strings.Join(stream.Trailer().Get("muster-server"), ",") == "s2", stream.Trailer())
	return ""
}

func unknown(method string) func() string {
	return func() string {
		err := channel.Invoke(soon(), method, &pb.HealthCheckRequest{}, &pb.HealthCheckResponse{})
		refused(err, codes.Unimplemented)
		return ""
	}
}

func healthCheck() string {
	client := health.NewHealthClient(channel)
	answer, err := client.Check(soon(), &health.HealthCheckRequest{})
	must(err)
	expect(answer.Status == health.HealthCheckResponse_SERVING, answer)
	_, err = client.Check(soon(), &health.HealthCheckRequest{Service: "no.such"})
	refused(err, codes.NotFound)
	return ""
}

func healthWatch() string {
	context, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	watch, err := health.NewHealthClient(channel).Watch(context,
		&health.HealthCheckRequest{Service: "muster.v1.StoreService"})
	must(err)
	first, err := watch.Recv()
	must(err)
	expect(first.Status == health.HealthCheckResponse_SERVING, first)
	return ""
}

func reflect() string {
	stream, err := reflection.NewServerReflectionClient(channel).ServerReflectionInfo(soon())
	must(err)
	must(stream.Send(&reflection.ServerReflectionRequest{
		MessageRequest: &reflection.ServerReflectionRequest_ListServices{ListServices: "*"}}))
	must(stream.Send(&reflection.ServerReflectionRequest{
		MessageRequest: &reflection.ServerReflectionRequest_FileContainingSymbol{
			FileContainingSymbol: "muster.v1.StoreService"}}))
	must(stream.CloseSend())
	services, err := stream.Recv()
	must(err)
	expect(strings.Contains(services.String(), "muster.v1.CoordinatorService"), services)
	file, err := stream.Recv()
	must(err)
	described := bytes.Join(file.GetFileDescriptorResponse().FileDescriptorProto, nil)
	expect(bytes.Contains(described, []byte("muster/v1/store.proto")), file)
	return ""
}

// concurrentCalls are more than the 1,000 streams that a connection takes at once: the others wait here.
func concurrentCalls() string {
	var all sync.WaitGroup
	outcomes := make([]error, 1200)
	for i := range outcomes {
		all.Add(1)
		go func(i int) {
			defer all.Done()
			outcomes[i] = check()
		}(i)
	}
	all.Wait()
	for _, err := range outcomes {
		must(err)
	}
	return ""
}

func withoutCertificate() string {
	stranger := open(server, false)
	defer stranger.Close()
	_, err := pb.NewCoordinatorServiceClient(stranger).HealthCheck(soon(), &pb.HealthCheckRequest{})
	refused(err, codes.Unavailable)
	return ""
}

// streamEndsWithServer: the test restarts the server when it reads "restart".
func streamEndsWithServer() string {
	watch, err := coordinator.WatchTopology(context.Background(), &pb.WatchTopologyRequest{})
	must(err)
	_, err = watch.Recv()
	must(err)
	fmt.Println("restart")
	for err == nil {
		_, err = watch.Recv()
	}
	refused(err, codes.Unavailable)
	return ""
}

// goesOnAfterRestart uses the same channel. A server that stops or starts answers UNAVAILABLE: nothing
// was changed.
func goesOnAfterRestart() string {
	for limit := time.Now().Add(2 * patience); ; time.Sleep(50 * time.Millisecond) {
		_, err := store.Put(soon(), &pb.StorePutRequest{Key: "after"}, grpc.WaitForReady(true))
		if err == nil {
			return ""
		}
		expect(status.Code(err) == codes.Unavailable && time.Now().Before(limit), err)
	}
}
