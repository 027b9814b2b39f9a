package shell

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// intruderMode makes the test binary a confined program that tries to change the mode of a file that it may only read. The
// next argument is the method. The program writes whether calls were denied and whether calls were made; the latter are
// about a file that it may write to.
const intruderMode = "intrude"

// wantedResults is how many calls of each result an intruder waits for.
const wantedResults = 300

func runIntruder(way string, words []string) {
	outside := words[0]
	own := filepath.Join(os.Getenv("TMPDIR"), "own")
	exitOnError(os.MkdirAll(own, 0o700))
	exitOnError(os.WriteFile(filepath.Join(own, "x"), nil, 0o600))
	switch way {
	case "swap a folder":
		swapDir(own, outside)
	case "swap a descriptor":
		swapDescriptor(own, outside)
	case "swap the name in memory":
		swapName(filepath.Join(own, "x"), outside)
	case "send a descriptor":
		sendDescriptor(outside)
	}
}

func exitOnError(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// repeatCall repeats a call until it was made and denied often enough. In the meantime another thread calls meanwhile.
func repeatCall(ask func() error, meanwhile func()) {
	var over atomic.Bool
	ended := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		for !over.Load() {
			meanwhile()
		}
		close(ended)
	}()
	done, refused := 0, 0
	for start := time.Now(); (done < wantedResults || refused < wantedResults) && time.Since(start) < maxWait/2; {
		if ask() == nil {
			done++
		} else {
			refused++
		}
	}
	over.Store(true)
	<-ended
	fmt.Println(done > 0, refused > 0)
}

// swapDir exchanges the directory in a path and a link to the directory of the other file.
func swapDir(own, outside string) {
	exitOnError(os.Symlink(filepath.Dir(outside), own+"-link"))
	name := filepath.Join(own, filepath.Base(outside))
	repeatCall(func() error { return unix.Chmod(name, 0o666) }, func() {
		exitOnError(unix.Renameat2(unix.AT_FDCWD, own, unix.AT_FDCWD, own+"-link", unix.RENAME_EXCHANGE))
	})
}

// swapDescriptor exchanges the files of a descriptor.
func swapDescriptor(own, outside string) {
	mine, err := unix.Open(filepath.Join(own, "x"), unix.O_RDWR, 0)
	exitOnError(err)
	other, err := unix.Open(outside, unix.O_RDONLY, 0)
	exitOnError(err)
	const both = 200
	exitOnError(unix.Dup3(mine, both, 0))
	repeatCall(func() error { return unix.Fchmod(both, 0o666) }, func() {
		exitOnError(unix.Dup3(other, both, 0))
		exitOnError(unix.Dup3(mine, both, 0))
		unix.Close(both)
		exitOnError(unix.Dup3(mine, both, 0))
	})
}

// swapName exchanges the names in memory.
func swapName(own, outside string) {
	var text, mine, other [unix.PathMax]byte
	copy(mine[:], own)
	copy(other[:], outside)
	text = mine
	ask := func() error {
		here := unix.AT_FDCWD
		if _, _, errno := unix.Syscall(unix.SYS_FCHMODAT, uintptr(here), uintptr(unsafe.Pointer(&text)), 0o666); errno != 0 {
			return errno
		}
		return nil
	}
	repeatCall(ask, func() { text = other; text = mine })
}

// sendDescriptor receives a descriptor of the file from another process.
func sendDescriptor(outside string) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	exitOnError(err)
	fd, err := unix.Open(outside, unix.O_RDONLY, 0)
	exitOnError(err)
	exitOnError(unix.Sendmsg(pair[0], []byte("x"), unix.UnixRights(fd), nil, 0))
	var text [1]byte
	rights := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(pair[1], text[:], rights, 0)
	exitOnError(err)
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	exitOnError(err)
	got, err := unix.ParseUnixRights(&messages[0])
	exitOnError(err)
	fmt.Println(unix.Fchmod(fd, 0o666) == nil, unix.Fchmod(got[0], 0o666) != nil)
}

func TestConfinedAttrRaces(t *testing.T) {
	for way, want := range map[string]string{
		"swap a folder": "true true\n", "swap a descriptor": "true true\n", "swap the name in memory": "true true\n", "send a descriptor": "false true\n",
	} {
		t.Run(way, func(t *testing.T) {
			name, before := newOwnedFile(t)
			got := mustRun(t, fmt.Sprintf("command = [%q, %q, %q, %q]\nstderr = \"merge\"\nsandbox { read = [%q] }", executable(t), intruderMode, way, name, filepath.Dir(name)), `{}`)["stdout"]
			if got != want {
				t.Errorf("%q", got)
			}
			if now, err := os.Stat(name); err != nil || now.Mode() != before.Mode() {
				t.Errorf("%v, %v", now.Mode(), err)
			}
		})
	}
}
