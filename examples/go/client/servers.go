package client

import (
	"context"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

var said = map[codes.Code]string{
	codes.InvalidArgument: "INVALID", codes.OutOfRange: "INVALID", codes.NotFound: "NOT_FOUND",
	codes.AlreadyExists: "CONFLICT", codes.Aborted: "CONFLICT", codes.FailedPrecondition: "CONFLICT",
	codes.PermissionDenied: "DENIED", codes.Unauthenticated: "DENIED", codes.ResourceExhausted: "THROTTLED",
	codes.Unimplemented: "UNSUPPORTED", codes.Unavailable: "UNAVAILABLE", codes.DataLoss: "CORRUPT",
}

// Meaning names the error of a call that failed. Without `answered`, which the trailing metadata muster-server shows,
// no server has spoken: a call that writes may have been done.
func Meaning(code codes.Code, answered, leaderAddress, writes bool) string {
	if answered && leaderAddress && code == codes.FailedPrecondition {
		return "UNAVAILABLE"
	}
	if name, known := said[code]; answered && known {
		return name
	}
	if writes {
		return "AMBIGUOUS"
	}
	return "UNAVAILABLE"
}

// Servers are those of one cluster: another one is asked when one fails.
type Servers struct {
	connections []*grpc.ClientConn
	current     int
}

// Dial takes "h1:9000,h2:9000". The servers need not answer yet.
func Dial(servers string) (*Servers, error) {
	made := &Servers{}
	for _, each := range strings.Split(servers, ",") {
		// On another machine than this one: grpc.WithTransportCredentials, see docs/security.md.
		connection, err := grpc.Dial(each, grpc.WithInsecure())
		if err != nil {
			return nil, err
		}
		made.connections = append(made.connections, connection)
	}
	return made, nil
}

// Current is the server to ask; Next turns to another one.
func (s *Servers) Current() *grpc.ClientConn { return s.connections[s.current] }

func (s *Servers) Next() { s.current = (s.current + 1) % len(s.connections) }

// Ask makes a call that does no harm when it is done twice, until a server has said yes or no.
func (s *Servers) Ask(ctx context.Context, call func(context.Context, *grpc.ClientConn, grpc.CallOption) error) error {
	for {
		var trailer metadata.MD
		attempt, cancel := context.WithTimeout(ctx, 10*time.Second)
		err := call(attempt, s.Current(), grpc.Trailer(&trailer))
		cancel()
		answered := len(trailer.Get("muster-server")) > 0
		elsewhere := len(trailer.Get("leader-address")) > 0
		if err == nil || ctx.Err() != nil || Meaning(status.Code(err), answered, elsewhere, false) != "UNAVAILABLE" {
			return err
		}
		s.Next()
		time.Sleep(100 * time.Millisecond)
	}
}
