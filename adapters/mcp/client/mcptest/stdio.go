package mcptest

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"sync"
	"testing"
)

// Pipes runs the server as a program would until the test ends or w is closed, and returns its standard output and
// its standard input.
func (s *Server) Pipes(t testing.TB) (r io.ReadCloser, w io.WriteCloser) {
	inReader, inWriter := io.Pipe()
	outReader, outWriter := io.Pipe()
	var running sync.WaitGroup
	running.Go(func() {
		s.ServeStdio(t.Context(), inReader, outWriter)
		inReader.Close()
		outWriter.Close()
	})
	t.Cleanup(func() {
		inWriter.Close()
		outReader.Close()
		running.Wait()
	})
	return outReader, inWriter
}

// ServeStdio serves one client over the pipes of a program, until r ends. Calls end then, or with ctx.
func (s *Server) ServeStdio(ctx context.Context, r io.Reader, w io.Writer) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	var mu sync.Mutex
	send := func(message []byte) error {
		mu.Lock()
		defer mu.Unlock()
		_, err := w.Write(append(message, '\n'))
		return err
	}
	listening := false
	in := newSession("")
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var f frame
		if json.Unmarshal(line, &f) != nil {
			continue
		}
		if !listening && (f.Method == "notifications/initialized" || f.Method == "subscriptions/listen") {
			listening = true
			defer s.subscribe(func() { send(notification("notifications/tools/list_changed", struct{}{})) })()
		}
		if !s.received(&f, in) {
			continue
		}
		running.Go(func() {
			if s.Line != nil {
				if text := s.Line(f.Method, string(f.ID)); text != nil {
					send(text)
					return
				}
			}
			if f.Method == "subscriptions/listen" {
				<-ctx.Done()
				return
			}
			result, problem := s.serve(ctx, &f, in, nil, send)
			send(encode(answer{"2.0", f.ID, result, problem}))
		})
	}
}
