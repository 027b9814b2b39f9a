package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"hatchel/runtime/observe/event"
	"hatchel/runtime/stage/approval"
)

const (
	maxEventLine   = 1 << 20          // bytes
	silenceTimeout = 45 * time.Second // of a stream, on which the server sends something every 15 seconds
)

// ErrStreamEnded reports that the connection of a stream has ended, and may be made again.
var ErrStreamEnded = errors.New("the stream of events has ended")

// connectionFailure is the error of a connection that cannot be made now. It is an ErrStreamEnded, too.
type connectionFailure struct{ error }

// Is implements the interface of package errors.
func (connectionFailure) Is(target error) bool { return target == ErrStreamEnded }

// isUnavailable reports whether a server does not answer, or the one that issues the token does not.
func isUnavailable(err error) bool {
	if _, ok := errors.AsType[connectionProblem](err); ok {
		return true
	}
	var problem interface{ Unavailable() bool }
	return errors.As(err, &problem) && problem.Unavailable()
}

// Events calls each with the lines of GET /events, each a JSON object with the id of an event. Query has its
// parameters. It ends with the error of each, with nil at the end of a stream that does not follow, with ErrStreamEnded
// when another one is interrupted, and with a sentence that names the server.
func (c *Client) Events(ctx context.Context, query url.Values, each func(line []byte) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	streaming := *c.http
	streaming.Timeout = 0 // the stream may be open for days
	silence := time.AfterFunc(silenceTimeout, cancel)
	defer silence.Stop()
	do := func(r *http.Request) (*http.Response, error) {
		silence.Reset(silenceTimeout)
		response, err := streaming.Do(r)
		if err == nil && response.StatusCode != http.StatusOK {
			silence.Stop() // while a person signs in
		}
		return response, err
	}
	response, err := c.exchange(ctx, do, http.MethodGet, "/events?"+query.Encode(), nil, event.LinesType)
	switch {
	case isUnavailable(err):
		return connectionFailure{err}
	case err != nil:
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, maxEventLine))
		err := c.responseError(response.StatusCode, text)
		if errors.Is(err, approval.ErrNotFound) || response.StatusCode == http.StatusNotFound {
			err = fmt.Errorf("%s has no events: declare events {} in its configuration", c.base)
		}
		return err
	}
	if response.Header.Get("Content-Type") != event.LinesType {
		return c.notAServer()
	}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, maxEventLine)
	for lines.Scan() {
		silence.Reset(silenceTimeout)
		if len(lines.Bytes()) == 0 {
			continue // the connection is kept open
		}
		if err := each(lines.Bytes()); err != nil {
			return err
		}
	}
	if lines.Err() != nil || query.Get("follow") != "false" {
		return ErrStreamEnded
	}
	return nil
}
