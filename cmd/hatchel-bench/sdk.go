package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

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

type itemsOutput struct {
	Result []item `json:"result"`
}

type idsOutput struct {
	Result []any `json:"result"`
}

// sdkServer is what a user would write by hand with the official SDK for the named row.
func sdkServer(row string, w *work) (*mcp.Server, error) {
	server := mcp.NewServer(&mcp.Implementation{Name: "bench", Version: "1.0.0"}, nil)
	switch row {
	case "text":
		mcp.AddTool(server, &mcp.Tool{Name: "greet", Description: "Greet one person by name."},
			func(_ context.Context, _ *mcp.CallToolRequest, in greetInput) (*mcp.CallToolResult, any, error) {
				return sdkText(w.greet(arguments{Name: in.Name, Number: in.Number}), nil)
			})
	case "sqlite":
		mcp.AddTool(server, &mcp.Tool{Name: "find_item", Description: "Find one item by its number."},
			func(_ context.Context, _ *mcp.CallToolRequest, in idInput) (*mcp.CallToolResult, itemsOutput, error) {
				items, err := w.items(arguments{ID: in.ID})
				return nil, itemsOutput{items}, err
			})
	case "http":
		mcp.AddTool(server, &mcp.Tool{Name: "read_note", Description: "Read one note."},
			func(ctx context.Context, _ *mcp.CallToolRequest, in idInput) (*mcp.CallToolResult, any, error) {
				return sdkText(w.note(ctx, arguments{ID: in.ID}))
			})
	case "big":
		mcp.AddTool(server, &mcp.Tool{Name: "read_page", Description: "Read the whole page."},
			func(_ context.Context, _ *mcp.CallToolRequest, in nameInput) (*mcp.CallToolResult, any, error) {
				return sdkText(w.readPage(arguments{Name: in.Name}), nil)
			})
	case "shell":
		mcp.AddTool(server, &mcp.Tool{Name: "say", Description: "Say a word."},
			func(_ context.Context, _ *mcp.CallToolRequest, in wordInput) (*mcp.CallToolResult, any, error) {
				return sdkText(w.say(arguments{Word: in.Word}))
			})
	case "filter":
		mcp.AddTool(server, &mcp.Tool{Name: "large_orders", Description: "Numbers of the orders above a total."},
			func(ctx context.Context, _ *mcp.CallToolRequest, in minimumInput) (*mcp.CallToolResult, idsOutput, error) {
				ids, err := w.largeOrders(ctx, arguments{Minimum: in.Minimum})
				return nil, idsOutput{ids}, err
			})
	case "list":
		for n := range listedTools {
			mcp.AddTool(server, &mcp.Tool{Name: listedName(n), Description: listedDescription(n)},
				func(context.Context, *mcp.CallToolRequest, listedInput) (*mcp.CallToolResult, any, error) {
					return sdkText("Nothing to report.", nil)
				})
		}
	default:
		return nil, fmt.Errorf("there is no SDK server for %q", row)
	}
	return server, nil
}

func sdkText(text string, err error) (*mcp.CallToolResult, any, error) {
	if err != nil {
		return nil, nil, err
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
}

// runSDK serves one row with the official SDK. The SDK needs a stateful handler for the legacy era
// and a stateless one for the modern era; both are there, told apart by the version header.
func runSDK(o childOptions) error {
	w, err := openWork(o.row, o.folder, o.upstream)
	if err != nil {
		return err
	}
	server, err := sdkServer(o.row, w)
	if err != nil {
		return err
	}
	if o.stdio {
		return server.Run(context.Background(), &mcp.StdioTransport{})
	}
	same := func(*http.Request) *mcp.Server { return server }
	legacy := mcp.NewStreamableHTTPHandler(same, &mcp.StreamableHTTPOptions{JSONResponse: true})
	modern := mcp.NewStreamableHTTPHandler(same, &mcp.StreamableHTTPOptions{JSONResponse: true, Stateless: true})
	return serveChild(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Header.Get("Mcp-Protocol-Version"), "2026") {
			modern.ServeHTTP(rw, r)
			return
		}
		legacy.ServeHTTP(rw, r)
	}))
}
