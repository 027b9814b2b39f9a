package shell

import (
	"bufio"
	"os"
	"testing"
)

// echoArgumentsMode makes the test binary a program that writes its arguments, each followed by NUL.
const echoArgumentsMode = "write-arguments"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == echoArgumentsMode {
		out := bufio.NewWriter(os.Stdout)
		for _, a := range os.Args[2:] {
			_, _ = out.WriteString(a + "\x00")
		}
		_ = out.Flush()
		os.Exit(0)
	}
	if len(os.Args) > 1 && os.Args[1] == foreignListenerMode {
		runUnderForeignListener()
	}
	if len(os.Args) > 2 && os.Args[1] == intruderMode {
		runIntruder(os.Args[2], os.Args[3:])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func executable(t *testing.T) string {
	t.Helper()
	file, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return file
}
