//go:build linux && cgo

package shell

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// grounds are the folders and files that the programs of a cell may write to: descriptors of those that the rules of Landlock are made for, whatever gets their names
// afterwards.
type grounds []int

// grounds opens them. Where nothing is, nothing can be written. The caller closes them.
func (c *confinement) grounds(room string) (g grounds, err error) {
	for _, p := range append(slices.Clip(c.toWrite), place{room, filepath.Dir(room)}) {
		fd, err := p.open()
		if absent(err) {
			continue
		}
		if err != nil {
			g.close()
			return nil, err
		}
		g = append(g, fd)
	}
	return g, nil
}

// absent reports that there is nothing at a place, or nothing that the server could give rights to.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOTDIR)
}

func (g grounds) close() {
	for _, fd := range g {
		unix.Close(fd)
	}
}

// renamings are how often a file may move while it is looked for, before it counts as one that lies elsewhere.
const renamings = 8

// hold reports whether what is open lies in the grounds. That is so, as it is for Landlock, when they are above it on the way by which it was opened, over mounts, too;
// other names that it has do not count, and what has none any more lies nowhere.
//
// What the kernel calls two descriptors only suggests a way from one to the other. It is one when it leads there: no link is followed on it, and it cannot leave.
func (g grounds) hold(fd int) bool {
	wanted, err := inodeOf(fd)
	if err != nil {
		return false
	}
	for range renamings {
		name := nameOf(fd)
		likely := false
		for _, ground := range g {
			way, below := wayDown(nameOf(ground), name)
			if !below {
				continue
			}
			likely = true
			if found, err := inodeAt(ground, way); err == nil && found == wanted {
				return true
			}
		}
		if !likely {
			return false
		}
	}
	return false
}

// wayDown is the path from a folder to what is below it, which is empty for the folder itself.
func wayDown(folder, name string) (way string, below bool) {
	if folder == "" || name == "" {
		return "", false
	}
	if name == folder {
		return "", true
	}
	return strings.CutPrefix(name, strings.TrimSuffix(folder, "/")+"/")
}

// linkTo is the name under which /proc has a descriptor of this process.
func linkTo(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// nameOf is what the kernel calls an open file now; empty when it cannot say.
func nameOf(fd int) string {
	var name [unix.PathMax]byte
	n, err := unix.Readlink(linkTo(fd), name[:])
	if err != nil || n == len(name) {
		return ""
	}
	return string(name[:n])
}

// An inode is which file something is, by the mount through which it was reached.
type inode struct {
	major, minor  uint32
	number, mount uint64
}

func inodeOf(fd int) (inode, error) {
	var s unix.Statx_t
	err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_INO|unix.STATX_MNT_ID, &s)
	return inode{s.Dev_major, s.Dev_minor, s.Ino, s.Mnt_id}, err
}

// inodeAt is what lies at a way down from a folder.
func inodeAt(folder int, way string) (inode, error) {
	if way == "" {
		return inodeOf(folder)
	}
	fd, err := unix.Openat2(folder, way, &unix.OpenHow{Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return inode{}, err
	}
	defer unix.Close(fd)
	return inodeOf(fd)
}

// rootOf opens a folder that a program may have closed, also to the server. A link that it may have put in its place is not followed.
func rootOf(room string) (*os.Root, error) {
	fd, err := unix.Open(room, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	if err := unix.Chmod(linkTo(fd), 0o700); err != nil {
		return nil, err
	}
	return os.OpenRoot(linkTo(fd))
}
