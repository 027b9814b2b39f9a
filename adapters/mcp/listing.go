package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hatchel/adapters/mcp/process"
)

// Listing is what a server says of itself and of its tools, which an import pins.
type Listing struct {
	Tools        [][]byte // definitions as the server sent them, in its order; a name may appear twice
	Instructions string   // must not reach a model
	Protocol     string   // the revision that the session speaks
	Unstable     bool     // the list was still changing when the time was over
}

const (
	stableTime  = time.Second      // for which a list must not have changed
	listingTime = 10 * time.Second // within which it has to become stable
)

// List opens a session of the connection that a handle is of, declares what its servers may ask, and lists the
// tools as soon as the list does not change any more: servers add tools when they know what their client can do.
// The session ends before List returns, and so does the program that List starts for a connection with a command. The
// error is that of package client, or says that requests need a caller.
func List(ctx context.Context, handle any) (*Listing, error) {
	s, ok := handle.(*server)
	if !ok {
		return nil, errors.New("the connection is of another kind")
	}
	changed := make(chan struct{}, 1)
	o := s.options()
	o.Changed = func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	session, program, err := s.begin(ctx, "", o)
	if failed, ok := errors.AsType[*process.StartError](err); ok {
		err = failed // which says how the program ended; the failure of a call does not
		if text := strings.Join(strings.Fields(failed.Stderr()), " "); text != "" {
			err = fmt.Errorf("%w, and its error output ends with %q", failed, text)
		}
	}
	if err != nil {
		return nil, err
	}
	if program != nil {
		defer program.Close()
	} else {
		defer session.Close()
	}
	l := &Listing{Instructions: session.Instructions(), Protocol: session.Protocol()}
	over := time.After(listingTime)
	for first := true; ; first = false {
		list, err := session.Tools(ctx)
		if err != nil {
			return nil, err
		}
		before := l.Tools
		l.Tools = nil
		for _, t := range list.Tools {
			l.Tools = append(l.Tools, t.Raw)
		}
		same := !first && slices.EqualFunc(before, l.Tools, bytes.Equal)
		select {
		case <-changed:
			same = false
		default:
		}
		if same {
			return l, nil
		}
		select {
		case <-over:
			l.Unstable = true
			return l, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(stableTime):
		}
	}
}
