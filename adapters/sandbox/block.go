package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"hatchel/adapters"
	"hatchel/hcl"
)

// Block is a sandbox block: what programs may do in addition to reading the files of the system and those that
// the command names.
type Block struct {
	Mode   string
	Policy // as written: paths may be relative, and Path is not set
}

// ModeNone is the only value of mode.
const ModeNone = "none"

const (
	defaultOpenFiles = 1024
	defaultFileSize  = 1 << 30
	defaultProcesses = 64

	minOpenFiles = 3 // the standard files
	maxOpenFiles = 1 << 20
	maxProcesses = 1 << 20
	minMemory    = 1 << 20
	minCPUShare  = 0.01
	maxCPUShare  = 1 << 10
)

// NewBlock returns the default, which holds where no sandbox block is written.
func NewBlock() *Block {
	return &Block{Policy: Policy{
		OpenFiles: defaultOpenFiles, FileSize: defaultFileSize, Processes: defaultProcesses,
	}}
}

// Spec returns the arguments of a block for the programs of calls.
func (s *Block) Spec() hcl.Spec {
	return s.spec(blockDoc{
		read: "a constant dir, what under(...) gives, the directories of PATH and the system's programs, " +
			"libraries, locales, time zones and certificates. Of the configuration directory programs read only " +
			"script_file, files that are constant words of command or pipe, and what read names.",
		write: "TMPDIR, a directory of each call that is removed afterwards.",
		whose: "each program, and all programs of a call together,",
		owner: "a call",
	}, hcl.Attr(&s.CPU, "cpu", "How much CPU time each program, and all programs of a call together, may use.").
		DefaultDoc("no limit but timeout"))
}

// ServerSpec returns the arguments of a block for a program that serves many calls.
func (s *Block) ServerSpec() hcl.Spec {
	return s.spec(blockDoc{
		read: "the directories of PATH and the system's programs, libraries, locales, time zones and certificates. " +
			"Of the configuration directory the program reads only files that are words of command, and what read " +
			"names.",
		write: "TMPDIR and HOME, a directory of each process that is removed when it ends.",
		whose: "each process, and all processes of the program together,",
		owner: "the program",
	}, hcl.Attr(&s.CPUShare, "cpu_share", "How many cores all processes of the program together may use, on "+
		"average over 10 seconds, such as 0.5. A program that uses more is ended.").DefaultDoc("no limit").
		Hint(" cpu is the CPU time of a command that ends. A program that serves many calls has cpu_share = 0.5, in "+
			"cores.", "cpu"))
}

// blockDoc is how the documentation of a block differs between programs of calls and programs that serve many calls.
type blockDoc struct{ read, write, whose, owner string }

func (s *Block) spec(doc blockDoc, cpu hcl.Field) hcl.Spec {
	*s = *NewBlock()
	return hcl.Spec{
		hcl.Attr(&s.Mode, "mode", "\"none\" gives programs all rights of the server. Confinement needs Landlock, "+
			"which Linux has since 5.13."),
		hcl.Attr(&s.Read, "read", "Files and directories that may be read, and programs in them run, in "+
			"addition to "+doc.read),
		hcl.Attr(&s.Write, "write", "Files and directories that may be read and written, in addition to "+doc.write+
			" Before Linux 6.2 a file cannot be truncated "+
			"by its name (truncate(2)). Before 5.19 nothing can be renamed or linked from one directory to "+
			"another; mv copies."),
		hcl.Attr(&s.Network, "network", "Lets programs open sockets of all kinds, also to services on this machine.").
			DefaultDoc("false: no sockets"),
		hcl.Attr(&s.Modes, "modes", "Lets programs change modes, groups and times of all files that the "+
			"server's user owns.").DefaultDoc("false: only of files that may be written"),
		hcl.Attr(s.memory(), "memory", "How much memory "+doc.whose+" may use, "+
			"with the files in a TMPDIR that is kept in memory (tmpfs). memfd_create then fails as on an old kernel.").
			DefaultDoc("no limit"),
		cpu,
		hcl.Attr(&s.OpenFiles, "open_files", "How many files each program may have open.").RenamedFrom("files").
			DefaultDoc(fmt.Sprint(defaultOpenFiles)),
		hcl.Attr((*hcl.Size)(&s.FileSize), "file_size",
			"How large a written file may become. The number of files is not limited.").DefaultDoc(`"1GiB"`),
		hcl.Attr(&s.Processes, "processes", "How many processes "+doc.owner+" may have at the same time, with sixteen "+
			"threads for each.").DefaultDoc(fmt.Sprint(defaultProcesses)),
	}
}

func (s *Block) Check(checks *adapters.Checks) {
	if s == nil {
		return
	}
	checks.Refuse(s.Mode != "" && s.Mode != ModeNone, &s.Mode,
		"mode must be %q or omitted, not %q. If it is omitted, programs are confined.", ModeNone, s.Mode)
	checks.Refuse(s.Mode == ModeNone && s.hasRules(), &s.Mode, "mode = %q turns the sandbox off, so no other argument "+
		"can be set. Remove mode, or the other arguments.", ModeNone)
	checks.Refuse(s.OpenFiles < minOpenFiles || s.OpenFiles > maxOpenFiles, &s.OpenFiles,
		"open_files must be from %d to %d, not %d. Each program starts with %[1]d open files.",
		minOpenFiles, maxOpenFiles, s.OpenFiles)
	checks.Refuse(s.Processes < 1 || s.Processes > maxProcesses, &s.Processes,
		"processes must be from 1 to %d, not %d.", maxProcesses, s.Processes)
	checks.Refuse(s.CPUShare != 0 && (s.CPUShare < minCPUShare || s.CPUShare > maxCPUShare), &s.CPUShare,
		"cpu_share is a number of cores, from %v to %v, not %v.", minCPUShare, maxCPUShare, s.CPUShare)
	checks.Refuse(s.Memory != 0 && s.Memory < minMemory, s.memory(),
		"memory must be a size such as \"256MiB\". With %s no program can start.", s.memory())
	for _, field := range []*[]string{&s.Read, &s.Write} {
		for _, path := range *field {
			checks.Refuse(path == "" || strings.HasPrefix(path, "~") || strings.ContainsAny(path, "*?\x00"), field,
				"%q is not a path. Write a file or a directory, absolute or relative to the configuration directory, "+
					"without ~ and wildcards.", path)
		}
	}
}

// Effects returns what the sandbox grants. A nil sandbox is the default, which grants nothing.
func (s *Block) Effects() (effects []hcl.Effect) {
	if s == nil {
		return nil
	}
	for _, grant := range []struct {
		given  bool
		effect hcl.Effect
	}{
		{s.Mode == ModeNone, hcl.Effect{What: "none"}},
		{s.Read != nil, hcl.Effect{What: "read", Source: []any{&s.Read}}},
		{s.Write != nil, hcl.Effect{What: "write", Source: []any{&s.Write}}},
		{s.Network, hcl.Effect{What: "network"}},
		{s.Modes, hcl.Effect{What: "modes"}},
	} {
		if grant.given {
			grant.effect.Verb = "SANDBOX"
			effects = append(effects, grant.effect)
		}
	}
	return effects
}

// hasRules reports whether anything but the mode is set.
func (s *Block) hasRules() bool {
	return !reflect.DeepEqual(s.Policy, NewBlock().Policy)
}

// memory returns the field that memory is decoded into.
func (s *Block) memory() *hcl.Size { return (*hcl.Size)(&s.Memory) }

// CheckPaths rejects paths that do not exist, relative to the configuration directory: what is put there later was not
// reviewed.
func (s *Block) CheckPaths(configDir string) error {
	if s == nil {
		return nil
	}
	var checks adapters.Checks
	for _, arg := range []struct {
		paths *[]string
		fix   string
	}{{&s.Read, "Correct the path, or remove it."}, {&s.Write, "Create it first, or name its parent directory."}} {
		for _, path := range *arg.paths {
			_, err := os.Stat(adapters.Absolute(configDir, path))
			checks.Refuse(err != nil, arg.paths,
				"The file or directory %q does not exist, or the server cannot open it. %s", path, arg.fix)
		}
	}
	if err := checks.Err(); err != nil {
		return &adapters.MissingError{Name: "a path of its sandbox", Err: err}
	}
	return nil
}

// AllowFiles lets the programs of a working directory read and run the files of the configuration directory that words
// of their command name. An empty directory is not known.
func (p *Policy) AllowFiles(dir string, words []string) {
	for _, word := range words {
		if dir == "" && !filepath.IsAbs(word) {
			continue
		}
		name, err := filepath.Rel(p.Config, adapters.Absolute(dir, word))
		if err == nil && filepath.IsLocal(name) && !strings.HasPrefix(word, "-") {
			p.Files = append(p.Files, name)
		}
	}
}

// PolicyIn returns what the block allows programs of a configuration directory whose PATH is path.
func (s *Block) PolicyIn(configDir, path string) Policy {
	p := s.Policy
	p.Path, p.Config = path, configDir
	p.Read, p.Write = adapters.AbsoluteAll(configDir, s.Read), adapters.AbsoluteAll(configDir, s.Write)
	return p
}

const (
	configIsReadable = "%q contains the configuration directory, so that programs can read every file in it. Name " +
		"the files and directories that they need."
	configIsWritable = "%q contains the configuration directory, so that programs can change the tools, and with " +
		"them do all that the server may. Name the files and directories that they write."
)

// Warn warns of paths with which programs reach the configuration directory. The rules belong to the block or to its
// connection.
func (s *Block) Warn(env adapters.Env, confined *Sandbox) {
	for _, path := range s.Read {
		if confined.ContainsConfig(adapters.Absolute(env.Dir, path)) {
			env.Warn(&s.Read, "Configuration can be read", fmt.Sprintf(configIsReadable, path))
		}
	}
	for _, path := range s.Write {
		if confined.ContainsConfig(adapters.Absolute(env.Dir, path)) {
			env.Warn(&s.Write, "Configuration can be changed", fmt.Sprintf(configIsWritable, path))
		}
	}
}
