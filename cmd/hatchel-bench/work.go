package main

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	_ "github.com/mattn/go-sqlite3"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// implementation does the work of one row as plainly as a Go program can: behind a bare handler
// (the floor), and as tools of a server written by hand with the official SDK. It is safe for
// concurrent use.
type implementation struct {
	floor    floor
	addTools func(*mcp.Server) error
}

// floor answers one JSON-RPC request. The parts of the reply are written one after the other.
type floor func(ctx context.Context, message []byte) (reply [][]byte, err error)

// call is what a floor decodes of a JSON-RPC request.
type call[In any] struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string `json:"name"`
		Arguments In     `json:"arguments"`
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

// newFloor returns a bare handler that decodes a call, does the work and encodes the reply.
func newFloor[In any](work func(context.Context, In) (callResult, error)) floor {
	return func(ctx context.Context, message []byte) ([][]byte, error) {
		var c call[In]
		if err := json.Unmarshal(message, &c); err != nil {
			return nil, err
		}
		result, err := work(ctx, c.Params.Arguments)
		if err != nil {
			return nil, err
		}
		encoded, err := json.Marshal(reply{"2.0", c.ID, result})
		return [][]byte{encoded}, err
	}
}

// textTool implements a tool that returns a text.
func textTool[In any](name, description string, work func(context.Context, In) (string, error)) *implementation {
	return &implementation{
		floor: newFloor(func(ctx context.Context, in In) (callResult, error) {
			text, err := work(ctx, in)
			return callResult{Content: []textContent{{"text", text}}}, err
		}),
		addTools: func(s *mcp.Server) error {
			mcp.AddTool(s, &mcp.Tool{Name: name, Description: description},
				func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
					text, err := work(ctx, in)
					return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, err
				})
			return nil
		},
	}
}

// output is the structured content of a tool that returns a list.
type output[Item any] struct {
	Result []Item `json:"result"`
}

// listTool implements a tool that returns a list as text and as structured content.
func listTool[In, Item any](name, description string, work func(context.Context, In) ([]Item, error)) *implementation {
	return &implementation{
		floor: newFloor(func(ctx context.Context, in In) (callResult, error) {
			list, err := work(ctx, in)
			if err != nil {
				return callResult{}, err
			}
			text, err := json.Marshal(list)
			return callResult{[]textContent{{"text", string(text)}}, map[string]any{"result": list}}, err
		}),
		addTools: func(s *mcp.Server) error {
			mcp.AddTool(s, &mcp.Tool{Name: name, Description: description},
				func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, output[Item], error) {
					list, err := work(ctx, in)
					return nil, output[Item]{list}, err
				})
			return nil
		},
	}
}

type greetInput struct {
	Name   string `json:"name" jsonschema:"Who to greet"`
	Number int    `json:"number" jsonschema:"Place in line"`
}

type idInput struct {
	ID int `json:"id" jsonschema:"Which one"`
}

type nameInput struct {
	Name string `json:"name" jsonschema:"Title of the page"`
}

type wordInput struct {
	Word string `json:"word" jsonschema:"What to say"`
}

type minimumInput struct {
	Minimum int `json:"minimum" jsonschema:"Smallest total"`
}

// listedInput has the six inputs of every tool of the row "list".
type listedInput struct {
	Customer string   `json:"customer" jsonschema:"Customer to report on"`
	Limit    int      `json:"limit,omitempty" jsonschema:"At most so many rows"`
	Minimum  float64  `json:"minimum,omitempty" jsonschema:"Smallest amount"`
	Open     bool     `json:"open,omitempty" jsonschema:"Only open ones"`
	Sort     string   `json:"sort,omitempty" jsonschema:"Order of the rows"`
	Tags     []string `json:"tags,omitempty" jsonschema:"Tags that must be set"`
}

// implement opens what the named row needs: files of folder, and the upstream server at that URL.
func implement(row, folder, upstream string) (*implementation, error) {
	switch workOf(row) {
	case "text":
		return textTool("greet", "Greet one person by name.", func(_ context.Context, in greetInput) (string, error) {
			return fmt.Sprintf("Hello %s, you are number %d in line.", in.Name, in.Number), nil
		}), nil
	case "sqlite":
		query, err := prepareItemQuery(filepath.Join(folder, "items.db"))
		if err != nil {
			return nil, err
		}
		return listTool("find_item", "Find one item by its number.",
			func(_ context.Context, in idInput) ([]item, error) { return findItems(query, in.ID) }), nil
	case "postgres":
		find, err := newPostgresQuery(row == "pooler")
		if err != nil {
			return nil, err
		}
		return listTool("find_item", "Find one item by its number.",
			func(ctx context.Context, in idInput) ([]item, error) { return find(ctx, in.ID) }), nil
	case "http":
		get := newFetcher(upstream)
		return textTool("read_note", "Read one note.", func(ctx context.Context, in idInput) (string, error) {
			note, err := get(ctx, fmt.Sprintf("/notes/%d", in.ID))
			return string(note), err
		}), nil
	case "big":
		page, err := os.ReadFile(filepath.Join(folder, "page.txt"))
		if err != nil {
			return nil, err
		}
		text := string(page)
		return textTool("read_page", "Read the whole page.", func(_ context.Context, in nameInput) (string, error) {
			return in.Name + ": " + text, nil
		}), nil
	case "shell":
		return textTool("say", "Say a word.", func(_ context.Context, in wordInput) (string, error) {
			out, err := exec.Command("/bin/echo", in.Word).Output()
			return string(out), err
		}), nil
	case "filter":
		get := newFetcher(upstream)
		return listTool("large_orders", "Numbers of the orders above a total.",
			func(ctx context.Context, in minimumInput) ([]any, error) {
				body, err := get(ctx, "/orders")
				if err != nil {
					return nil, err
				}
				return selectLargeOrders(body, in.Minimum)
			}), nil
	case "list":
		return implementList(upstream)
	case "mcp", "mcp-stdio":
		return implementProxy("read_record", upstream)
	case "mcp-page":
		return implementProxy("read_page", upstream)
	}
	return nil, fmt.Errorf("row %q has no implementation", row)
}

// item is a row of the table that the point query reads.
type item struct {
	ID    int    `json:"id"`
	Name  string `json:"name"`
	Price int    `json:"price"`
}

func prepareItemQuery(file string) (*sql.Stmt, error) {
	db, err := sql.Open("sqlite3", "file:"+file+"?mode=ro")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(4)
	db.SetMaxIdleConns(4)
	return db.Prepare("SELECT id, name, price FROM items WHERE id = ?")
}

func findItems(query *sql.Stmt, id int) ([]item, error) {
	rows, err := query.Query(id)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	return readItems(rows)
}

// itemRows are the rows of a query of items, of any driver.
type itemRows interface {
	Next() bool
	Scan(...any) error
	Err() error
}

func readItems(rows itemRows) ([]item, error) {
	items := []item{}
	for rows.Next() {
		var it item
		if err := rows.Scan(&it.ID, &it.Name, &it.Price); err != nil {
			return nil, err
		}
		items = append(items, it)
	}
	return items, rows.Err()
}

// newFetcher returns a function that reads a path of the upstream server with pooled connections.
func newFetcher(upstream string) func(ctx context.Context, path string) ([]byte, error) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConns: 256, MaxIdleConnsPerHost: 256}}
	return func(ctx context.Context, path string) ([]byte, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, upstream+path, nil)
		if err != nil {
			return nil, err
		}
		res, err := client.Do(req)
		if err != nil {
			return nil, err
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("upstream answered %s", res.Status)
		}
		return io.ReadAll(res.Body)
	}
}

func selectLargeOrders(body []byte, minimum int) ([]any, error) {
	var decoded any
	if err := json.Unmarshal(body, &decoded); err != nil {
		return nil, err
	}
	ids := []any{}
	for _, order := range decoded.(map[string]any)["orders"].([]any) {
		order := order.(map[string]any)
		if order["total"].(float64) >= float64(minimum) {
			ids = append(ids, order["id"])
		}
	}
	return ids, nil
}

// implementList serves the result of tools/list that the upstream has given; without an upstream it
// has no floor.
func implementList(upstream string) (*implementation, error) {
	list, err := fetchList(strings.TrimPrefix(upstream, "http://"))
	if err != nil && upstream != "" {
		return nil, err
	}
	return &implementation{
		floor: func(_ context.Context, message []byte) ([][]byte, error) {
			var c call[struct{}]
			if err := json.Unmarshal(message, &c); err != nil {
				return nil, err
			}
			head := append([]byte(`{"jsonrpc":"2.0","id":`), c.ID...)
			return [][]byte{append(head, `,"result":`...), list, {'}'}}, nil
		},
		addTools: func(s *mcp.Server) error {
			report := func(context.Context, listedInput) (string, error) { return "Nothing to report.", nil }
			for n := range listedTools {
				if err := textTool(listedName(n), listedDescription(n), report).addTools(s); err != nil {
					return err
				}
			}
			return nil
		},
	}, nil
}

// fetchList returns the result of tools/list of a server.
func fetchList(host string) (json.RawMessage, error) {
	c, _, err := dialHTTP(host)
	if err != nil {
		return nil, err
	}
	defer c.close()
	if _, err := c.out.Write(c.frame(body(modern, "", ""), callHeaders(modern, "", "")).bytes); err != nil {
		return nil, err
	}
	answer, err := c.receive()
	if err != nil {
		return nil, err
	}
	var reply struct{ Result json.RawMessage }
	err = json.Unmarshal(answer, &reply)
	return reply.Result, err
}

// serveLines answers JSON-RPC messages, one a line, until the input ends.
func (i *implementation) serveLines(in io.Reader, out io.Writer) error {
	lines := bufio.NewReaderSize(in, 1<<16)
	for {
		line, err := lines.ReadSlice('\n')
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		encoded, err := i.floor(context.Background(), line)
		if err != nil {
			return err
		}
		if _, err := out.Write(append(bytes.Join(encoded, nil), '\n')); err != nil {
			return err
		}
	}
}
