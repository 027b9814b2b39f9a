package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hatchel/runtime/edge/mcp"
)

const asServer = "HATCHEL_TEST_SERVE_STANDARD_STREAMS"

// TestMain turns the test binary into a server on its standard streams if asServer is set.
func TestMain(m *testing.M) {
	if os.Getenv(asServer) == "" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	in, restore := mcp.Stdin()
	err := newServer(newFakeHandler(), mcp.Options{}).For("").Serve(ctx, in, os.Stdout)
	restore()
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func TestProcessServesStandardStreams(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asServer+"=1")
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &sdk.CommandTransport{Command: cmd, TerminateDuration: timeout}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if res, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "echo"}); err != nil || res.IsError {
		t.Errorf("%+v, %v", res, err)
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
}

func TestProcessEndsOnSIGTERMWithASilentPeer(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asServer+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(in, "nothing in particular")
	if _, err := out.Read(make([]byte, 10)); err != nil { // the process is up and has answered
		t.Fatal(err)
	}
	cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
