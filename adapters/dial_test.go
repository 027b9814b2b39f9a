package adapters_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"

	"hatchel/adapters"
)

func TestWhyNobodyAnswersIsASentence(t *testing.T) {
	const free = "127.0.0.1:1" // no system gives this port to anybody who does not ask for it
	_, refused := net.Dial("tcp", free)
	for _, c := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("connect: %w", refused), "nothing listens on " + free},
		{&net.DNSError{Name: "db.example", IsNotFound: true}, `there is no host "db.example"`},
		{&net.DNSError{Name: "db.example", IsTimeout: true}, `the name of the host "db.example" could not be resolved`},
		{context.DeadlineExceeded, "the address did not answer in time"},
		{errors.New("else"), ""},
	} {
		if got := adapters.DialReason(c.err); got != c.want {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
}
