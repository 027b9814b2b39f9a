package server

import (
	"errors"
	"net/http"
	"sync"
	"time"

	"hatchel/runtime/edge/operator"
	"hatchel/runtime/observe/event"
)

// serveEvents answers GET /events with a stream of events.
func (s *Server) serveEvents(w http.ResponseWriter, r *http.Request) {
	handle := func() error { return s.handleEvents(w, r) }
	s.serveAPI(w, r, handle, func(err error) *Error { return describeEventsError(w, err) })
}

// handleEvents sends events until the stream ends, or returns an error and has written nothing.
func (s *Server) handleEvents(w http.ResponseWriter, r *http.Request) error {
	if reason := s.mcp.CheckSource(r); reason != "" {
		return &operator.ForbiddenError{Why: reason}
	}
	if err := checkMethod(w, r, http.MethodGet); err != nil {
		return err
	}
	query, err := event.ParseQuery(r.URL.RawQuery, r.Header.Get("Last-Event-ID"), time.Now())
	if err != nil {
		return err
	}
	ctx, ending, cancel := s.mcp.OpenStream(r.Context())
	defer cancel()
	listener, err := s.Host.Operator().Listen(ctx, s.callerOf(r), s.whyNotOperator(r) == "", query)
	if err != nil {
		return err
	}
	defer listener.Close()
	stream := event.NewStream(w, r)
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-ending:
			stream.End(listener)
		case <-ctx.Done():
		}
	})
	stream.Serve(ctx, listener)
	cancel()
	watching.Wait() // the response may not be used after the handler
	return nil
}

// describeEventsError returns the response to an error of a listener.
func describeEventsError(w http.ResponseWriter, err error) *Error {
	var query *event.QueryError
	switch {
	case errors.As(err, &query):
		return newError(http.StatusUnprocessableEntity, query.Message)
	case errors.Is(err, event.ErrTooMany), errors.Is(err, event.ErrTooManyOfCaller):
		w.Header().Set("Retry-After", "10")
		return newError(http.StatusTooManyRequests, "Try again later: "+err.Error())
	case errors.Is(err, event.ErrClosed):
		w.Header().Set("Retry-After", "1")
		return newError(http.StatusServiceUnavailable, "The server is shutting down")
	case errors.Is(err, operator.ErrNoEvents): // since the request was routed
		return newError(http.StatusNotFound, "Not found. The configuration of this server has no events block")
	}
	return nil
}
