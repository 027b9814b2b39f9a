package main

import (
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
)

// childOptions say which program a child process of the benchmark is.
type childOptions struct {
	row      string
	folder   string
	upstream string
	stdio    bool
}

// children are the programs that this binary also is: `hatchel-bench floor -row text`.
var children = map[string]func(childOptions) error{
	"floor":    runFloor,
	"sdk":      runSDK,
	"upstream": runUpstream,
}

func runChild(name string, args []string) error {
	var o childOptions
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.StringVar(&o.row, "row", "", "the row whose work is done")
	flags.StringVar(&o.folder, "folder", "", "the row's folder")
	flags.StringVar(&o.upstream, "upstream", "", "the URL of the upstream server")
	flags.BoolVar(&o.stdio, "stdio", false, "serve standard input and output")
	if err := flags.Parse(args); err != nil {
		return err
	}
	return children[name](o)
}

// serveChild serves h on a free port, says where on stderr, and ends with its standard input, so
// that no child outlives a benchmark that was killed.
func serveChild(h http.Handler) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "ready at http://%s/mcp\n", listener.Addr())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	return http.Serve(listener, h)
}

// runUpstream serves what the tools of the rows "http" and "filter" ask for.
func runUpstream(childOptions) error { return serveChild(upstreamHandler()) }

func upstreamHandler() http.Handler {
	orders := ordersDocument()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/orders" {
			w.Header().Set("Content-Type", "application/json")
			w.Write(orders)
			return
		}
		var id int
		if _, err := fmt.Sscan(strings.TrimPrefix(r.URL.Path, "/notes/"), &id); err != nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		io.WriteString(w, noteText(id))
	})
}
