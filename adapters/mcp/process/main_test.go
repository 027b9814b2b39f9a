package process_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"hatchel/adapters/mcp/client/mcptest"
)

// serverMode makes the test binary an MCP server over its standard input and output.
const serverMode = "mcp-server"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == serverMode {
		runServer(os.Args[2:])
		os.Exit(0)
	}
	if len(os.Args) > 1 && os.Args[1] == sleeperMode {
		time.Sleep(time.Hour)
	}
	if len(os.Args) > 2 && os.Args[1] == killedMode {
		runUntilKilled(os.Args[2])
	}
	os.Exit(m.Run())
}

// sleeperMode makes the test binary a program that sleeps.
const sleeperMode = "sleeper"

// runServer serves until its input ends. Each word changes what it does.
func runServer(words []string) {
	s := &mcptest.Server{Era: mcptest.Legacy}
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "exit":
			fmt.Fprintln(os.Stderr, "cannot start: the token is "+os.Getenv("TOKEN"))
			code, _ := strconv.Atoi(value)
			os.Exit(code)
		case "silent":
			time.Sleep(time.Hour)
		case "delay":
			d, _ := time.ParseDuration(value)
			time.Sleep(d)
		case "modern":
			s.Era = mcptest.Both
		case "stay": // after the end of its input
			defer time.Sleep(time.Hour)
		case "background": // a process that keeps the output open
			_ = child().Start()
		}
	}
	tool := func(name string, do func(argument string) string) {
		s.Handle(name, func(c *mcptest.Call) (any, error) {
			var in struct{ Text string }
			_ = json.Unmarshal(c.Arguments, &in)
			return mcptest.Text("%s", do(in.Text)), nil
		})
	}
	tool("pid", func(string) string { return strconv.Itoa(os.Getpid()) })
	tool("env", func(string) string { return strings.Join(os.Environ(), "\n") })
	tool("exit", func(code string) string {
		n, _ := strconv.Atoi(code)
		fmt.Fprintln(os.Stderr, "bye")
		os.Exit(n)
		return ""
	})
	tool("read", func(path string) string { return errorText(os.ReadFile(path)) })
	tool("list", func(path string) string { return errorText(os.ReadDir(path)) })
	tool("write", func(path string) string { return errorText(0, os.WriteFile(path, []byte("x"), 0o600)) })
	tool("connect", func(address string) string { return errorText(net.Dial("tcp", address)) })
	tool("listen", func(address string) string { return errorText(net.Listen("tcp", address)) })
	tool("run", func(command string) string { return errorText(exec.Command("sh", "-c", command).CombinedOutput()) })
	tool("fork", func(string) string {
		for {
			_ = child().Start()
		}
	})
	tool("burn", func(string) string {
		n := 0
		for start := time.Now(); time.Since(start) < time.Hour; n++ {
		}
		return strconv.Itoa(n)
	})
	tool("stderr", func(size string) string {
		n, _ := strconv.Atoi(size)
		os.Stderr.WriteString("beginning " + strings.Repeat("x", n) + " " + os.Getenv("TOKEN") + " end\n")
		return "written"
	})
	s.ServeStdio(context.Background(), os.Stdin, os.Stdout)
}

func child() *exec.Cmd {
	file, _ := os.Executable()
	c := exec.CommandContext(context.Background(), file, append([]string{sleeperMode}, os.Args[2:]...)...)
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	return c
}

// errorText returns a value as a text, or an error.
func errorText[T any](v T, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	if b, ok := any(v).([]byte); ok {
		return string(b)
	}
	return fmt.Sprint(v)
}
