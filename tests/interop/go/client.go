// Every kind of call, with Go's gRPC. The steps are those of ../interop_test.py.
//
// usage: client SERVER STANDBY [CA CERTIFICATE KEY]
//
// It compiles with grpc-go 1.33 (Debian 12) and 1.64 (Debian 13), and so uses what both have.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	pb "muster/v1"
)

const (
	patience   = 10 * time.Second // What a call may take that is to be answered.
	generation = "00000000-0000-4000-8000-00000000000"
)

var (
	server      = os.Args[1]
	standby     = os.Args[2]
	files       = os.Args[3:]
	value       = make([]byte, 250*1024) // The store takes up to 256 KiB; 8 of these are almost 2 MB.
	channel     = open(server, true)
	coordinator = pb.NewCoordinatorServiceClient(channel)
	store       = pb.NewStoreServiceClient(channel)
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func expect(holds bool, what interface{}) {
	if !holds {
		panic(fmt.Sprint("unexpected: ", what))
	}
}

func open(address string, certificate bool) *grpc.ClientConn {
	security := grpc.WithInsecure()
	if len(files) > 0 {
		authority, err := os.ReadFile(files[0])
		must(err)
		config := &tls.Config{RootCAs: x509.NewCertPool()}
		expect(config.RootCAs.AppendCertsFromPEM(authority), files[0])
		if certificate {
			shown, err := tls.LoadX509KeyPair(files[1], files[2])
			must(err)
			config.Certificates = []tls.Certificate{shown}
		}
		security = grpc.WithTransportCredentials(credentials.NewTLS(config))
	}
	made, err := grpc.Dial(address, security)
	must(err)
	return made
}

func soon() context.Context {
	made, _ := context.WithTimeout(context.Background(), patience)
	return made
}

// refused checks that a call ended with an error of this code.
func refused(err error, code codes.Code) {
	expect(status.Code(err) == code, err)
}

func node(number uint32) *pb.NodeInfo {
	return &pb.NodeInfo{Id: fmt.Sprint("n", number), Address: "10.0.0.1", Port: 7000 + number,
		Type: pb.NodeType_NODE_TYPE_OBJECT, GenerationId: fmt.Sprint(generation, number)}
}

func beats(known uint64) *pb.HeartbeatBatch {
	return &pb.HeartbeatBatch{Heartbeats: []*pb.HeartbeatRequest{
		{NodeId: "n1", KnownVersion: known, GenerationId: generation + "1"}}}
}

func puts(count int) *pb.StorePutBatch {
	batch := &pb.StorePutBatch{}
	for number := 0; number < count; number++ {
		batch.Puts = append(batch.Puts, &pb.StorePutRequest{Key: fmt.Sprint("large/", number), Value: value})
	}
	return batch
}

func check() error {
	_, err := coordinator.HealthCheck(soon(), &pb.HealthCheckRequest{})
	return err
}

func awaitSubscribers(count uint64) {
	for limit := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		answer, err := coordinator.HealthCheck(soon(), &pb.HealthCheckRequest{})
		must(err)
		if answer.WatchSubscribers == count {
			return
		}
		expect(time.Now().Before(limit), answer)
	}
}

// step prints "ok NAME", with what `act` returns behind it; false when `act` panics.
func step(name string, act func() string) (passed bool) {
	defer func() {
		if failure := recover(); failure != nil {
			fmt.Printf("failed %s: %v\n", name, failure)
		}
	}()
	fmt.Println(strings.TrimSpace("ok " + name + " " + act()))
	return true
}

func main() {
	passed := true
	for _, each := range []struct {
		name string
		act  func() string
	}{
		{"unary", unary}, {"deadline_met", deadlineMet}, {"server_stream", serverStream},
		{"bidirectional_stream", bidirectionalStream}, {"half_close", halfClose},
		{"cancellation", cancellation}, {"deadline_exceeded", deadlineExceeded},
		{"metadata", allBytes}, {"metadata_over_limit", metadataOverLimit},
		{"large_request", largeRequest}, {"large_answer", largeAnswer},
		{"too_large_request", tooLargeRequest}, {"compressed_request", compressedRequest},
		{"not_found", notFound}, {"invalid_argument", invalidArgument},
		{"leader_address", leaderAddress},
		{"unknown_method", unknown("/muster.v1.StoreService/NoSuch")},
		{"unknown_service", unknown("/no.such.Service/Get")},
		{"health_check", healthCheck}, {"health_watch", healthWatch}, {"reflection", reflect},
		{"concurrent_calls", concurrentCalls}, {"without_certificate", withoutCertificate},
		{"stream_ends_with_server", streamEndsWithServer},
		{"goes_on_after_restart", goesOnAfterRestart},
	} {
		if each.name != "without_certificate" || len(files) > 0 {
			passed = step(each.name, each.act) && passed
		}
	}
	if !passed {
		os.Exit(1)
	}
}
