package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
)

// call is what the floor decodes of a JSON-RPC request.
type call struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string    `json:"name"`
		Arguments arguments `json:"arguments"`
	} `json:"params"`
}

type textContent struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type callResult struct {
	Content    []textContent `json:"content"`
	Structured any           `json:"structuredContent,omitempty"`
}

type reply struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result"`
}

// answer is the whole work of one row's floor: from decoded request to encoded reply.
type answer func(ctx context.Context, c *call) ([]byte, error)

// floorAnswer returns the answer of the named row.
func floorAnswer(row string, w *work) (answer, error) {
	text := func(c *call, text string, err error) ([]byte, error) {
		if err != nil {
			return nil, err
		}
		return json.Marshal(reply{"2.0", c.ID, callResult{Content: []textContent{{"text", text}}}})
	}
	structured := func(c *call, value any, err error) ([]byte, error) {
		if err != nil {
			return nil, err
		}
		encoded, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		return json.Marshal(reply{"2.0", c.ID, callResult{
			Content:    []textContent{{"text", string(encoded)}},
			Structured: map[string]any{"result": value},
		}})
	}
	answers := map[string]answer{
		"text": func(_ context.Context, c *call) ([]byte, error) { return text(c, w.greet(c.Params.Arguments), nil) },
		"sqlite": func(_ context.Context, c *call) ([]byte, error) {
			items, err := w.items(c.Params.Arguments)
			return structured(c, items, err)
		},
		"http": func(ctx context.Context, c *call) ([]byte, error) {
			note, err := w.note(ctx, c.Params.Arguments)
			return text(c, note, err)
		},
		"big": func(_ context.Context, c *call) ([]byte, error) { return text(c, w.readPage(c.Params.Arguments), nil) },
		"shell": func(_ context.Context, c *call) ([]byte, error) {
			said, err := w.say(c.Params.Arguments)
			return text(c, said, err)
		},
		"filter": func(ctx context.Context, c *call) ([]byte, error) {
			ids, err := w.largeOrders(ctx, c.Params.Arguments)
			return structured(c, ids, err)
		},
		"list": func(_ context.Context, c *call) ([]byte, error) {
			b := make([]byte, 0, len(w.list)+64)
			b = append(b, `{"jsonrpc":"2.0","id":`...)
			b = append(b, c.ID...)
			b = append(b, `,"result":`...)
			b = append(b, w.list...)
			return append(b, '}'), nil
		},
	}
	a, ok := answers[row]
	if !ok {
		return nil, fmt.Errorf("there is no floor named %q", row)
	}
	return a, nil
}

// runFloor serves the floor of one row until its standard input ends.
func runFloor(o childOptions) error {
	w, err := openWork(o.row, o.folder, o.upstream)
	if err != nil {
		return err
	}
	if o.row == "list" {
		if w.list, err = os.ReadFile(filepath.Join(o.folder, listFile)); err != nil {
			return err
		}
	}
	a, err := floorAnswer(o.row, w)
	if err != nil {
		return err
	}
	if o.stdio {
		return floorLines(a, os.Stdin, os.Stdout)
	}
	return serveChild(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(rw, err.Error(), http.StatusBadRequest)
			return
		}
		var c call
		if err := json.Unmarshal(body, &c); err != nil {
			http.Error(rw, err.Error(), http.StatusBadRequest)
			return
		}
		encoded, err := a(r.Context(), &c)
		if err != nil {
			http.Error(rw, err.Error(), http.StatusInternalServerError)
			return
		}
		rw.Header().Set("Content-Type", "application/json")
		rw.Header().Set("Content-Length", strconv.Itoa(len(encoded)))
		rw.Write(encoded)
	}))
}

func floorLines(a answer, in io.Reader, out io.Writer) error {
	lines := bufio.NewReaderSize(in, 1<<16)
	for {
		line, err := lines.ReadSlice('\n')
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		var c call
		if err := json.Unmarshal(line, &c); err != nil {
			return err
		}
		if c.ID == nil {
			continue
		}
		encoded, err := a(context.Background(), &c)
		if err != nil {
			return err
		}
		if _, err := out.Write(append(encoded, '\n')); err != nil {
			return err
		}
	}
}
