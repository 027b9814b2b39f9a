package guard

import (
	"errors"
	"os"
	"os/signal"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"hatchel/internal/procfs"
)

// maxSessions is how many sessions can be recorded at the same time.
const maxSessions = 1 << 15

// sessionTable is memory that this process shares with the helper: the IDs of sessions.
type sessionTable [maxSessions]int32

// Sessions is the record of sessions whose processes are killed when this process ends.
type Sessions struct {
	table *sessionTable
	mu    sync.Mutex
	free  []int // guarded by mu
}

// OpenSessions returns the record of this process and starts its helper once.
var OpenSessions = sync.OnceValues(func() (*Sessions, error) {
	line, err := lifeline()
	if err != nil {
		return nil, err
	}
	fd, err := unix.MemfdCreate("sessions", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	memory := os.NewFile(uintptr(fd), "sessions")
	defer memory.Close()
	if err := memory.Truncate(int64(unsafe.Sizeof(sessionTable{}))); err != nil {
		return nil, err
	}
	table, err := mapSessions(fd)
	if err != nil {
		return nil, err
	}
	if err := startHelper(sessionHelper, line, memory); err != nil {
		return nil, err
	}
	s := &Sessions{table: table}
	for i := range maxSessions {
		s.free = append(s.free, maxSessions-1-i)
	}
	return s, nil
})

func mapSessions(fd int) (*sessionTable, error) {
	memory, err := unix.Mmap(fd, 0, int(unsafe.Sizeof(sessionTable{})), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, os.NewSyscallError("mmap", err)
	}
	return (*sessionTable)(unsafe.Pointer(&memory[0])), nil
}

var errTooManySessions = errors.New("too many programs run at the same time")

// Take returns a place for the ID of a session. The leader of the session writes its ID there.
func (s *Sessions) Take() (*int32, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.free) == 0 {
		return nil, errTooManySessions
	}
	i := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	return &s.table[i], nil
}

// Release returns a place whose session has ended.
func (s *Sessions) Release(place *int32) {
	*place = 0
	s.mu.Lock()
	defer s.mu.Unlock()
	offset := uintptr(unsafe.Pointer(place)) - uintptr(unsafe.Pointer(s.table))
	s.free = append(s.free, int(offset/unsafe.Sizeof(*place)))
}

// runSessions waits for the end of the process that is guarded, and kills the processes of the recorded sessions.
func runSessions() {
	signal.Ignore(unix.SIGTERM, unix.SIGINT, unix.SIGHUP)
	table, err := mapSessions(sessionsFD)
	if err != nil {
		unix.Exit(1)
	}
	var end [1]byte
	_, _ = os.NewFile(lifelineFD, "lifeline").Read(end[:])
	// A program that was being started records its session a moment later.
	const idlePasses = 100
	for idle := 0; idle < idlePasses; idle++ {
		if killSessions(table) {
			idle = 0
		}
		time.Sleep(killInterval)
	}
	unix.Exit(0)
}

// killSessions kills the processes of the recorded sessions, and reports whether there were any.
func killSessions(table *sessionTable) (killed bool) {
	leaders := map[int]bool{}
	for i := range table {
		if id := int(table[i]); id != 0 {
			leaders[id] = true
		}
	}
	if len(leaders) == 0 {
		return false
	}
	for _, pid := range procfs.Processes() {
		if session, err := unix.Getsid(pid); err == nil && leaders[session] && unix.Kill(pid, unix.SIGKILL) == nil {
			_, running := parentOf(pid)
			killed = killed || running
		}
	}
	return killed
}
