package adapters_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"

	"hatchel/adapters"
)

func TestDialReason(t *testing.T) {
	const free = "127.0.0.1:1" // nothing listens on this port
	_, refused := net.Dial("tcp", free)
	for _, c := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("connect: %w", refused), "nothing listens on " + free},
		{&net.DNSError{Name: "db.example", IsNotFound: true}, `the host "db.example" does not exist`},
		{&net.DNSError{Name: "db.example", IsTimeout: true}, `the host name "db.example" could not be resolved`},
		{context.DeadlineExceeded, "the address did not respond in time"},
		{errors.New("else"), ""},
	} {
		if got := adapters.DialReason(c.err); got != c.want {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
}
