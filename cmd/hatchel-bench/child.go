package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hatchel/cmd/hatchel-bench/upstream"
)

// serveHTTP serves h on a free port, says where on stderr, and exits when its standard input ends,
// so that no child outlives a benchmark that was killed.
func serveHTTP(h http.Handler) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{ // with the options of Hatchel
		Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 64 << 10,
	}
	fmt.Fprintf(os.Stderr, "ready at http://%s/mcp\n", listener.Addr())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	return server.Serve(listener)
}

// serveFloor serves one row with a bare handler. The arguments are those of [bench.startServer].
func serveFloor(args []string) error {
	c, err := implement(args[0], args[1], args[2])
	if err != nil {
		return err
	}
	if args[3] == "stdio" {
		return c.serveLines(os.Stdin, os.Stdout)
	}
	return serveHTTP(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		var parts [][]byte
		body, err := io.ReadAll(r.Body)
		if err == nil {
			parts, err = c.floor(r.Context(), body)
		}
		if err != nil {
			http.Error(rw, err.Error(), http.StatusInternalServerError)
			return
		}
		length := 0
		for _, part := range parts {
			length += len(part)
		}
		rw.Header().Set("Content-Type", "application/json")
		rw.Header().Set("Content-Length", strconv.Itoa(length))
		for _, part := range parts {
			rw.Write(part)
		}
	}))
}

// serveSDK serves one row with the official SDK. The SDK needs a stateful handler for the legacy
// era and a stateless one for the modern era; the version header of a request decides.
func serveSDK(args []string) error {
	c, err := implement(args[0], args[1], args[2])
	if err != nil {
		return err
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "bench", Version: "1.0.0"}, nil)
	if err := c.addTools(server); err != nil {
		return err
	}
	if args[3] == "stdio" {
		return server.Run(context.Background(), &mcp.StdioTransport{})
	}
	same := func(*http.Request) *mcp.Server { return server }
	legacy := mcp.NewStreamableHTTPHandler(same, &mcp.StreamableHTTPOptions{JSONResponse: true})
	modern := mcp.NewStreamableHTTPHandler(same, &mcp.StreamableHTTPOptions{JSONResponse: true, Stateless: true})
	return serveHTTP(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Header.Get("Mcp-Protocol-Version"), "2026") {
			modern.ServeHTTP(rw, r)
			return
		}
		legacy.ServeHTTP(rw, r)
	}))
}

// serveUpstream serves what the tools of rows read. With arguments it is an MCP server: "mcp",
// "stream" or "stdio", the revision, and the file for the calls that write, if there are any.
func serveUpstream(args []string) error {
	if len(args) == 0 {
		return serveHTTP(upstreamHandler())
	}
	s := &upstream.Server{Revision: args[1], Stream: args[0] == "stream", Page: pageText()}
	if len(args) > 2 {
		var err error
		if s.Written, err = os.OpenFile(args[2], os.O_APPEND|os.O_WRONLY, 0); err != nil {
			return err
		}
	}
	if args[0] == "stdio" {
		return s.ServeLines(os.Stdin, os.Stdout)
	}
	return serveHTTP(s)
}

func upstreamHandler() http.Handler {
	orders := ordersDocument()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /orders", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Write(orders)
	})
	mux.HandleFunc("GET /notes/{id}", func(w http.ResponseWriter, r *http.Request) {
		id, err := strconv.Atoi(r.PathValue("id"))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		io.WriteString(w, noteText(id))
	})
	return mux
}

// noteText is the text of one note of the upstream server: 1 KB.
func noteText(id int) string {
	head := fmt.Sprintf("Note %d. ", id)
	return head + strings.Repeat("The quick brown fox jumps over the lazy dog. ", 23)[:1024-len(head)]
}

const orderCount = 5200

// ordersDocument is a JSON body of about 1 MB. Order n has the total n.
func ordersDocument() []byte {
	var b bytes.Buffer
	b.WriteString(`{"orders":[`)
	for n := range orderCount {
		if n > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":%d,"customer":"Customer number %d","status":"shipped","total":%d,"paid":%t,"lines":[`+
			`{"sku":"SKU-%05d","quantity":%d,"price":12.5},{"sku":"SKU-%05d","quantity":%d,"price":99.95}]}`,
			100_000+n, n%97, n, n%3 == 0, n, n%7, n+1, n%5)
	}
	b.WriteString(`]}`)
	return b.Bytes()
}
