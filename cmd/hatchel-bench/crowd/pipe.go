package crowd

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// pipe is a client over standard input and output, with a server of its own.
type pipe struct {
	era   era
	can   string
	asked func(method string, params []byte) string
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	next  int
}

func (p *pipe) speaks() era { return p.era }

// pipeIn is one visit over pipes. At the end the input ends, and with it the server; one in six is killed instead.
func (s *soak) pipeIn(ctx context.Context) error {
	p := &pipe{era: eras[rand.IntN(2)], can: capable(), asked: s.answerAsMember}
	log, err := os.OpenFile(filepath.Join(s.Folder, "pipes.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	p.cmd = program(context.WithoutCancel(ctx), s.Binary, s.folder, "serve", "--stdio", s.folder)
	p.cmd.Stderr = log
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	p.out = bufio.NewReader(out)
	s.language.Lock() // a folder that does not load is not served
	err = p.cmd.Start()
	if err == nil && p.era == legacy {
		err = p.open()
	} else if err == nil {
		_, err = p.do(request{method: "server/discover"})
	}
	s.language.Unlock()
	if err == nil {
		err = p.listen()
	}
	if err == nil {
		err = (&visitor{caller: p, s: s, can: p.can}).use(ctx, 30)
	}
	left := errors.Is(err, errAbandoned)
	if left {
		err = nil
	}
	return errors.Join(err, s.hangUp(p, left || rand.IntN(6) == 0))
}

func (s *soak) hangUp(p *pipe, rudely bool) error {
	if rudely {
		s.tally.add("a server on pipes was killed")
		p.cmd.Process.Kill()
		p.in.Close()
		p.cmd.Wait()
		return nil
	}
	late := time.AfterFunc(patience, func() { p.cmd.Process.Kill() })
	defer late.Stop()
	p.in.Close()
	io.Copy(io.Discard, p.out)
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("a server on pipes ended with %w", err)
	}
	s.tally.add("a server on pipes ended")
	return nil
}

func (p *pipe) open() error {
	r, err := p.exchange(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"`+string(p.era)+`","capabilities":`+p.can+
		`,"clientInfo":{"name":"crowd","version":"1"}}}`, "0")
	if err == nil && r.Failure != nil {
		err = r.Failure
	}
	if err != nil {
		return fmt.Errorf("initialize over pipes: %w", err)
	}
	_, err = io.WriteString(p.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	return err
}

// listen has the client be told of changes, which it reads over.
func (p *pipe) listen() error {
	q, id := request{method: "resources/subscribe", params: `"uri":"load://notice"`}, `"subscribe"`
	if p.era == modern {
		q = request{method: "subscriptions/listen", params: `"notifications":{"toolsListChanged":true,"resourceSubscriptions":["load://notice"]}`}
	}
	_, err := io.WriteString(p.in, (&client{era: p.era, can: p.can}).message(q, id)+"\n")
	return err
}

func (p *pipe) do(q request) (*reply, error) {
	p.next++
	id := strconv.Itoa(p.next)
	message := (&client{era: p.era, can: p.can}).message(q, id)
	r, err := p.exchange(message, id)
	if err != nil {
		return nil, fmt.Errorf("%s over pipes: %w", q.method, err)
	}
	return r, nil
}

// exchange writes a line and reads until the reply to it.
func (p *pipe) exchange(message, id string) (*reply, error) {
	stuck := time.AfterFunc(patience, func() { p.cmd.Process.Kill() })
	defer stuck.Stop()
	if _, err := io.WriteString(p.in, message+"\n"); err != nil {
		return nil, err
	}
	for {
		line, err := p.out.ReadBytes('\n')
		if err != nil {
			return nil, err
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Params json.RawMessage
		}
		if err := json.Unmarshal(line, &m); err != nil {
			return nil, fmt.Errorf("%w in %.300s", err, line)
		}
		switch {
		case m.Method == "" && string(m.ID) == id:
			r := new(reply)
			return r, json.Unmarshal(line, r)
		case m.Method == "" || m.ID == nil:
			continue
		case p.era == modern:
			return nil, fmt.Errorf("a request came: %.300s", line)
		}
		said := p.asked(m.Method, m.Params)
		if said == "" {
			return nil, errAbandoned
		}
		if _, err := io.WriteString(p.in, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,`+said+"}\n"); err != nil {
			return nil, err
		}
	}
}
