package shell

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"hatchel/hcl"
)

// sandbox is a sandbox block: what the programs of a block may do beside reading the folder of the configuration and the system's programs.
type sandbox struct {
	Mode      string
	Read      []string
	Write     []string
	Network   bool
	Modes     bool
	Memory    hcl.Size
	CPU       time.Duration
	Files     int
	FileSize  hcl.Size
	Processes int
}

// unconfined is the one value of mode.
const unconfined = "none"

const (
	defaultFiles     = 1024
	defaultFileSize  = 1 << 30
	defaultProcesses = 64
	leastMemory      = 1 << 20
)

// newSandbox is what holds where no sandbox block is written.
func newSandbox() *sandbox {
	return &sandbox{Files: defaultFiles, FileSize: defaultFileSize, Processes: defaultProcesses}
}

func (s *sandbox) spec() hcl.Spec {
	*s = *newSandbox()
	return hcl.Spec{
		hcl.Attr(&s.Mode, "mode", "\"none\" lets programs do all that the server may. Without it Linux 5.13 or later is needed, with Landlock."),
		hcl.Attr(&s.Read, "read", "Files and folders that may be read, and programs in them run, beside the folder of the configuration, a constant dir, the folders of PATH and the system's programs, libraries, locales, time zones and certificates."),
		hcl.Attr(&s.Write, "write", "Files and folders that may be read and written. Without it only TMPDIR can be, a folder of the call's own that is removed with it. On Linux before 6.2 a file is cut only by who has it open, not by its name as truncate(2) does; before 5.19 nothing is renamed or linked from one folder to another, and mv copies."),
		hcl.Attr(&s.Network, "network", "Lets programs open sockets of every kind, also to services of this machine.").DefaultDoc("false: none at all"),
		hcl.Attr(&s.Modes, "modes", "Lets programs change modes, groups and times of all files that the server's user owns, wherever they are.").DefaultDoc("false: of those that may be written"),
		hcl.Attr(&s.Memory, "memory", "How much memory the programs of a call may use, each and together.").DefaultDoc("what the machine has"),
		hcl.Attr(&s.CPU, "cpu", "How much processor time the programs of a call may use, each and together.").DefaultDoc("no limit but timeout"),
		hcl.Attr(&s.Files, "files", "How many files one program may have open.").DefaultDoc(fmt.Sprint(defaultFiles)),
		hcl.Attr(&s.FileSize, "file_size", "How large a file may become that a program writes. How many it writes is not limited.").DefaultDoc(`"1GiB"`),
		hcl.Attr(&s.Processes, "processes", "How many processes a call may have at once, with sixteen threads for each.").DefaultDoc(fmt.Sprint(defaultProcesses)),
	}
}

// check blames what contradicts itself.
func (s *sandbox) check() (errs []error) {
	if s == nil {
		return nil
	}
	if s.Mode != "" && s.Mode != unconfined {
		errs = append(errs, hcl.Blame(&s.Mode, "mode is %q or not written, and this is %q. Without it programs are confined.", unconfined, s.Mode))
	}
	if s.Mode == unconfined && s.confines() {
		errs = append(errs, hcl.Blame(&s.Mode, "mode = %q confines nothing, so nothing else can be said beside it. Leave mode out, or the rest.", unconfined))
	}
	if s.Files < 3 || s.Files > 1<<20 {
		errs = append(errs, hcl.Blame(&s.Files, "files is a number from 3 to %d, and this is %d: a program begins with three.", 1<<20, s.Files))
	}
	if s.Processes < 1 || s.Processes > 1<<20 {
		errs = append(errs, hcl.Blame(&s.Processes, "processes is a number from 1 to %d, and this is %d.", 1<<20, s.Processes))
	}
	if s.Memory != 0 && s.Memory < leastMemory {
		errs = append(errs, hcl.Blame(&s.Memory, "memory is a size such as \"256MiB\", and this is %s, with which no program begins.", s.Memory))
	}
	for _, field := range []*[]string{&s.Read, &s.Write} {
		for _, path := range *field {
			if path == "" || strings.HasPrefix(path, "~") || strings.ContainsAny(path, "*?\x00") {
				errs = append(errs, hcl.Blame(field, "%q is not a path that can be opened: write a file or a folder, absolute or relative to the folder of the configuration, without ~ and wildcards.", path))
			}
		}
	}
	return errs
}

// confines reports whether anything but the mode was written.
func (s *sandbox) confines() bool {
	rest := *s
	rest.Mode = ""
	return rest.Read != nil || rest.Write != nil || rest.Network || rest.Modes || rest.Memory != 0 || rest.CPU != 0 || rest.Files != defaultFiles || rest.FileSize != defaultFileSize || rest.Processes != defaultProcesses
}

// missing blames paths that are not there: what is put there later nobody has looked at.
func (s *sandbox) missing(folder string) error {
	if s == nil {
		return nil
	}
	var errs []error
	for _, of := range []struct {
		paths *[]string
		fix   string
	}{{&s.Read, "Correct the path, or leave it out."}, {&s.Write, "Make it first, or name the folder that it is to be made in."}} {
		for _, path := range *of.paths {
			if _, err := os.Stat(below(folder, path)); err != nil {
				errs = append(errs, hcl.Blame(of.paths, "There is no file or folder %q that the server can open. %s", path, of.fix))
			}
		}
	}
	return errors.Join(errs...)
}
