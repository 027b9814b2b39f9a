package hold

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"

	"hatchel/hcl"
	"hatchel/hcl/surface"
	"hatchel/internal/operator"
	"hatchel/internal/osfile"
)

// readLock reads the lock of a configuration. The error is a sentence, as that of parseLock.
func readLock(fsys fs.FS) ([]byte, error) {
	text, err := fs.ReadFile(fsys, surface.LockName)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, operator.Error("There is no " + surface.LockName + ".")
	case err != nil:
		return nil, operator.Error(fmt.Sprintf("%s cannot be read: %v.", surface.LockName, err))
	}
	return text, nil
}

func parseLock(text []byte, kinds hcl.Kinds) (*surface.Surface, error) {
	lock, err := surface.ReadLock(text, kinds)
	if err != nil {
		return nil, operator.Error(fmt.Sprintf("%s cannot be used: %v.", surface.LockName, err))
	}
	if lock.Earlier > 0 {
		return nil, errEarlier{lock.Earlier}
	}
	return lock, nil
}

// errEarlier is a lock of an earlier version, which does not say everything that a reviewer has to approve.
type errEarlier struct{ version int }

func (e errEarlier) Error() string {
	return fmt.Sprintf("%s has version %d, which does not say in full what a configuration does. Run hatchel lock, "+
		"and review the new %[1]s.", surface.LockName, e.version)
}

func digestOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// statLock returns the owner and the digest of the lock in a directory; nothing for one that cannot be read.
func statLock(dir string) (owner, digest string) {
	name := filepath.Join(dir, surface.LockName)
	text, err := os.ReadFile(name)
	if err != nil {
		return "", ""
	}
	if info, err := os.Stat(name); err == nil {
		if id := osfile.Owner(info); id != "" {
			owner = "os:" + id
			if u, err := user.LookupId(id); err == nil {
				owner = "os:" + u.Username
			}
		}
	}
	return owner, digestOf(text)
}
