package shell

import (
	"bufio"
	"os"
	"testing"
)

// asChild makes the test binary a program that writes its arguments, each with NUL behind it, and ends.
const asChild = "write-arguments"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == asChild {
		out := bufio.NewWriter(os.Stdout)
		for _, a := range os.Args[2:] {
			_, _ = out.WriteString(a + "\x00")
		}
		_ = out.Flush()
		os.Exit(0)
	}
	if len(os.Args) > 1 && os.Args[1] == underListener {
		runUnderListener()
	}
	if len(os.Args) > 2 && os.Args[1] == asIntruder {
		intrude(os.Args[2], os.Args[3:])
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
