//go:build linux && cgo

package sandbox

import (
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// tempFiles measures the files of a call in a temporary directory that the kernel keeps in memory.
type tempFiles struct {
	dir   string
	used  int64        // of the file system, when the call began
	bytes atomic.Int64 // as last measured
	done  chan struct{}
}

const (
	tempFilesInterval = 50 * time.Millisecond
	// maxTempFilesShare is how many times longer than a measurement the pause after it is at least, because a program
	// decides how many files there are.
	maxTempFilesShare = 20
	tempFileOverhead  = 1 << 10 // what a file takes without its contents
)

// newTempFiles returns nil if the directory is not kept in memory.
func newTempFiles(dir string) *tempFiles {
	var stat unix.Statfs_t
	if unix.Statfs(dir, &stat) != nil || stat.Type != unix.TMPFS_MAGIC && stat.Type != unix.RAMFS_MAGIC {
		return nil
	}
	return &tempFiles{dir: dir, used: usedBytes(&stat), done: make(chan struct{})}
}

func usedBytes(stat *unix.Statfs_t) int64 { return int64(stat.Blocks-stat.Bfree) * stat.Bsize }

// watch measures the files of a set of processes until done is closed.
func (t *tempFiles) watch(p *processSet) {
	for pause := tempFilesInterval; ; {
		select {
		case <-t.done:
			return
		case <-time.After(pause):
		}
		began := time.Now()
		t.bytes.Store(t.measure(p.list(lastProcessID())))
		pause = max(tempFilesInterval, maxTempFilesShare*time.Since(began))
	}
}

// measure returns the size of the files in the directory, and of those that were removed and that processes have open.
// If a program has closed a directory to the server, the growth of the file system counts.
func (t *tempFiles) measure(pids []int) (sum int64) {
	closed := false
	if root, err := os.OpenRoot(t.dir); err == nil {
		_ = fs.WalkDir(root.FS(), ".", func(_ string, entry fs.DirEntry, err error) error {
			closed = closed || os.IsPermission(err)
			if err == nil {
				if info, err := entry.Info(); err == nil {
					stat := info.Sys().(*syscall.Stat_t)
					sum += tempFileOverhead + stat.Blocks*512/max(int64(stat.Nlink), 1)
				}
			}
			return nil
		})
		root.Close()
	}
	var fsStat unix.Statfs_t
	if closed && unix.Statfs(t.dir, &fsStat) == nil {
		sum = max(sum, usedBytes(&fsStat)-t.used)
	}
	return sum + removedFiles(t.dir, pids)
}

// mapped returns how much of the files is in the memory of processes, too.
func (t *tempFiles) mapped(pids []int) (sum int64) {
	for _, pid := range pids {
		text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps") // see proc_pid_smaps(5)
		inDir := false
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			switch {
			case !strings.HasSuffix(fields[0], ":"): // FROM-TO RIGHTS OFFSET DEVICE INODE PATH
				inDir = len(fields) == 6 && isWithin(fields[5], []string{t.dir})
			case inDir && fields[0] == "Pss:":
				sum += kibibytes(fields[1])
			case inDir && fields[0] == "Anonymous:": // its own copy of a part
				sum -= kibibytes(fields[1])
			}
		}
	}
	return sum
}

// removedFiles returns the size of the files on the file system of dir that have no name and that processes have open.
func removedFiles(dir string, pids []int) (sum int64) {
	var at, stat unix.Stat_t
	if unix.Stat(dir, &at) != nil {
		return 0
	}
	counted := map[uint64]bool{}
	for _, pid := range pids {
		fds := "/proc/" + strconv.Itoa(pid) + "/fd/"
		entries, _ := os.ReadDir(fds)
		for _, e := range entries {
			if unix.Stat(fds+e.Name(), &stat) == nil && stat.Dev == at.Dev && stat.Nlink == 0 && !counted[stat.Ino] {
				counted[stat.Ino] = true
				sum += stat.Blocks * 512
			}
		}
	}
	return sum
}
