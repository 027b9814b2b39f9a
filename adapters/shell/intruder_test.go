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

// asIntruder makes the test binary a confined program that tries to change the mode of a file that it may only read, in a way that the word behind it names. It writes how
// often it was refused and how often not, which is about files that it may write to.
const asIntruder = "intrude"

// rounds is how often an intruder wants to have seen each of the two.
const rounds = 300

func intrude(way string, words []string) {
	outside := words[0]
	own := filepath.Join(os.Getenv("TMPDIR"), "own")
	check(os.MkdirAll(own, 0o700))
	check(os.WriteFile(filepath.Join(own, "x"), nil, 0o600))
	switch way {
	case "swap a folder":
		swapAFolder(own, outside)
	case "swap a descriptor":
		swapADescriptor(own, outside)
	case "swap the name in memory":
		swapTheName(filepath.Join(own, "x"), outside)
	case "send a descriptor":
		sendADescriptor(outside)
	}
}

func check(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// hammer asks for a change until it was done and refused often enough, while meanwhile runs all the time.
func hammer(ask func() error, meanwhile func()) {
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
	for start := time.Now(); (done < rounds || refused < rounds) && time.Since(start) < patience/2; {
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

// swapAFolder lets the folder on the way be a link to that of the other file, every other moment.
func swapAFolder(own, outside string) {
	check(os.Symlink(filepath.Dir(outside), own+"-link"))
	name := filepath.Join(own, filepath.Base(outside))
	hammer(func() error { return unix.Chmod(name, 0o666) }, func() {
		check(unix.Renameat2(unix.AT_FDCWD, own, unix.AT_FDCWD, own+"-link", unix.RENAME_EXCHANGE))
	})
}

// swapADescriptor lets a descriptor be that of the one file or of the other.
func swapADescriptor(own, outside string) {
	mine, err := unix.Open(filepath.Join(own, "x"), unix.O_RDWR, 0)
	check(err)
	other, err := unix.Open(outside, unix.O_RDONLY, 0)
	check(err)
	const both = 200
	check(unix.Dup3(mine, both, 0))
	hammer(func() error { return unix.Fchmod(both, 0o666) }, func() {
		check(unix.Dup3(other, both, 0))
		check(unix.Dup3(mine, both, 0))
		unix.Close(both)
		check(unix.Dup3(mine, both, 0))
	})
}

// swapTheName lets the name in memory be that of the one file or of the other.
func swapTheName(own, outside string) {
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
	hammer(ask, func() { text = other; text = mine })
}

// sendADescriptor gets one of the file from another process.
func sendADescriptor(outside string) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	check(err)
	fd, err := unix.Open(outside, unix.O_RDONLY, 0)
	check(err)
	check(unix.Sendmsg(pair[0], []byte("x"), unix.UnixRights(fd), nil, 0))
	var text [1]byte
	rights := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(pair[1], text[:], rights, 0)
	check(err)
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	check(err)
	got, err := unix.ParseUnixRights(&messages[0])
	check(err)
	fmt.Println(unix.Fchmod(fd, 0o666) == nil, unix.Fchmod(got[0], 0o666) != nil)
}

func TestAProgramThatSwapsWhatItNamesReachesNothingElse(t *testing.T) {
	for way, want := range map[string]string{
		"swap a folder": "true true\n", "swap a descriptor": "true true\n", "swap the name in memory": "true true\n", "send a descriptor": "false true\n",
	} {
		t.Run(way, func(t *testing.T) {
			name, before := owned(t)
			got := must(t, fmt.Sprintf("command = [%q, %q, %q, %q]\nstderr = \"merge\"\nsandbox { read = [%q] }", executable(t), asIntruder, way, name, filepath.Dir(name)), `{}`)["stdout"]
			if got != want {
				t.Errorf("%q", got)
			}
			if now, err := os.Stat(name); err != nil || now.Mode() != before.Mode() {
				t.Errorf("%v, %v", now.Mode(), err)
			}
		})
	}
}
