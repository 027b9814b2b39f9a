package shell

import (
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// A cell is what the programs of one call are confined in: a folder that they may write to and the rules that name it. One that was left empty serves later calls
// of the same block, because both cost as much as a short command.
type cell struct {
	room     string // absolute
	rules    *os.File
	path     string // the PATH whose folders the rules name
	admitted map[string]bool
	made     time.Time
	lent     bool // it may read what is one call's alone, and serves no other

	grounds     grounds       // that the rules let programs write to
	supervisors []*supervisor // of the programs of the call that has it
}

const (
	cellName  = "hatchel-"
	cellAge   = 10 * time.Second // rules are about what was there when they were made, and files such as /etc/resolv.conf are replaced
	idleCells = 64
)

// take returns a cell for one call, which gives it back.
func (c *confinement) take(path string) (*cell, error) {
	for path == c.path {
		c.mu.Lock()
		last := len(c.idle) - 1
		if last < 0 {
			c.mu.Unlock()
			break
		}
		found := c.idle[last]
		c.idle = c.idle[:last]
		c.mu.Unlock()
		if time.Since(found.made) < cellAge {
			return found, nil
		}
		found.destroy()
	}
	return c.newCell(path)
}

func (c *confinement) newCell(path string) (*cell, error) {
	room, err := os.MkdirTemp("", cellName)
	if err != nil {
		return nil, err
	}
	k := &cell{room: room, path: path, admitted: map[string]bool{}, made: time.Now()}
	if k.room, err = filepath.Abs(room); err == nil {
		k.grounds, err = c.grounds(k.room)
	}
	if err == nil {
		k.rules, err = c.rules(path, k.grounds)
	}
	if err != nil {
		k.destroy()
		return nil, err
	}
	return k, nil
}

// give takes a cell back whose programs have ended. A nil cell is none.
func (c *confinement) give(k *cell) {
	if k == nil {
		return
	}
	if !k.unsupervise() {
		go func() {
			k.supervised()
			k.destroy()
		}()
		return
	}
	keep := k.path == c.path && !k.lent && k.empty()
	c.mu.Lock()
	if keep = keep && !c.closed && len(c.idle) < idleCells; keep {
		c.idle = append(c.idle, k)
	}
	c.mu.Unlock()
	if !keep {
		k.destroy()
	}
}

// close removes the cells that no call has. The others are removed when they are given back.
func (c *confinement) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.idle {
		k.destroy()
	}
	c.idle, c.closed = nil, true
	return nil
}

func (k *cell) empty() bool {
	dir, err := unix.Open(k.room, unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(dir)
	var room unix.Stat_t
	if unix.Fstat(dir, &room) != nil || room.Mode&0o7777 != 0o700 { // a program has opened it to others
		return false
	}
	var entries [512]byte // more than "." and ".." take
	n, err := unix.ReadDirent(dir, entries[:])
	if err != nil {
		return false
	}
	_, others, _ := unix.ParseDirent(entries[:n], 1, nil)
	return others == 0
}

func (k *cell) destroy() {
	if k.rules != nil {
		k.rules.Close()
	}
	k.grounds.close()
	if os.RemoveAll(k.room) != nil {
		k.unlock()
		_ = os.RemoveAll(k.room)
	}
}

// unlock gives back the right to remove what is in folders that a program has closed to itself.
func (k *cell) unlock() {
	root, err := rootOf(k.room)
	if err != nil {
		return
	}
	defer root.Close()
	closed := []string{"."}
	for len(closed) > 0 {
		name := closed[len(closed)-1]
		closed = closed[:len(closed)-1]
		if info, err := root.Lstat(name); err != nil || !info.IsDir() || root.Chmod(name, 0o700) != nil {
			continue
		}
		dir, err := root.Open(name)
		if err != nil {
			continue
		}
		entries, _ := dir.ReadDir(-1)
		dir.Close()
		for _, e := range entries {
			if e.IsDir() {
				closed = append(closed, filepath.Join(name, e.Name()))
			}
		}
	}
}
