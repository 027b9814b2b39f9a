package examples_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fileFence finds the fences with a file, such as "sql tables.sql", which the commands below it use.
var fileFence = regexp.MustCompile(`^\w+ ([\w./-]+)$`)

// serving is the info of a fence with one command that runs on while those below it do.
const serving = "console serving"

// TestTranscriptsArePrinted runs the commands of each console block and compares what they print with the page. Before
// them it writes the files that the page shows above, which are in the canonical style.
func TestTranscriptsArePrinted(t *testing.T) {
	t.Parallel()
	for _, path := range pagePaths(t) {
		p := readPage(t, path)
		if len(p.fences("console")) == 0 {
			continue
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			f := checkout(t, p)
			if strings.Contains(p.src, "\n$ psql ") {
				f.useDatabases(p)
			}
			if strings.Contains(p.src, trackerURL) {
				f.useTracker()
			}
			f.useAddresses(p)
			if filepath.Base(path) == "tutorial.md" {
				f.useTutorial(p)
			}
			changed := map[int]string{}
			for i, b := range p.blocks {
				printed := b.text
				switch m := fileFence.FindStringSubmatch(b.info); {
				case b.info == "console":
					printed = f.replay(b.text)
				case b.info == serving:
					printed = f.replayServer(b.text)
				case m != nil:
					f.must(os.MkdirAll(filepath.Dir(f.file(m[1])), 0o755))
					f.write(m[1], f.unmask(b.text))
					if o := f.run("fmt", "--diff", "."); o.stdout != "" || o.code != 0 {
						t.Errorf("%s is not in the canonical style:\n%s%s", m[1], o.stdout, o.stderr)
					}
				}
				if trimLines(printed) != trimLines(b.text) {
					changed[i] = printed
				}
			}
			switch {
			case len(changed) > 0 && *update:
				p.replace(t, changed)
			case len(changed) > 0:
				for i, printed := range changed {
					t.Errorf("%s shows\n%s\nbut this is printed; go test ./examples -run Transcripts -update writes it:\n%s", path, p.blocks[i].text, printed)
				}
			}
		})
	}
}

var listenAddress = regexp.MustCompile(`--listen (127\.0\.0\.1:\d+)`)

// useAddresses lets the servers of a page listen at free addresses in place of those that it shows.
func (f *folder) useAddresses(p *page) {
	for _, b := range p.fences(serving) {
		f.masks = append(f.masks, mask{freeAddress(f.t), listenAddress.FindStringSubmatch(b.text)[1]})
	}
}

// mask is a text that differs from the one that a page shows, such as an address.
type mask struct{ here, shown string }

// variation finds what differs between two runs of a command.
type variation struct {
	of    *regexp.Regexp
	shown string
}

// runOfTests is that of a run of the same tests.
var runOfTests = variation{regexp.MustCompile(`passed in [\d.hms]+ \(seed \d+\)`), "passed in 1ms (seed 7)"}

// unmask returns a text of a page with what is different here.
func (f *folder) unmask(text string) string {
	for _, m := range f.masks {
		text = strings.ReplaceAll(text, m.shown, m.here)
	}
	return text
}

// mask returns what was printed here as a page shows it.
func (f *folder) mask(printed string) string {
	printed = strings.ReplaceAll(printed, f.path, "/home/you")
	for _, m := range f.masks {
		printed = strings.ReplaceAll(printed, m.here, m.shown)
	}
	for _, v := range append(f.variations, runOfTests) {
		printed = v.of.ReplaceAllString(printed, v.shown)
	}
	return printed
}

// replay runs the commands of a transcript and returns it with what they print now.
func (f *folder) replay(transcript string) string {
	f.t.Helper()
	var out strings.Builder
	for i, part := range strings.Split("\n"+transcript, "\n$ ")[1:] {
		line, _, _ := strings.Cut(part, "\n")
		run := f.shell
		if f.standIn != nil {
			run = f.standIn
		}
		text := f.mask(run(f.unmask(line)))
		if i > 0 {
			out.WriteString("\n")
		}
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		out.WriteString("$ " + line + "\n" + text)
	}
	return out.String()
}

// shell runs a line and returns what it prints. Variables that it exports are those of later lines, too.
func (f *folder) shell(line string) string {
	f.t.Helper()
	name, _, exports := strings.Cut(strings.TrimPrefix(line, "export "), "=")
	if exports = exports && strings.HasPrefix(line, "export "); exports {
		line += "; printf %s \"$" + name + "\""
	}
	printed, err := f.shellCommand(line).CombinedOutput()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		f.t.Fatal(err)
	}
	if exports {
		f.env = append(f.env, name+"="+string(printed))
		return ""
	}
	return string(printed)
}

func (f *folder) shellCommand(line string) *exec.Cmd {
	cmd := exec.Command("/bin/sh", "-c", line)
	cmd.Dir = f.path
	cmd.Env = append(f.command().Env, "PATH="+filepath.Dir(hatchel)+":"+os.Getenv("PATH"))
	return cmd
}

// replayServer starts the command of a transcript, which ends with the test, waits until it has printed as many lines as
// the transcript shows, and returns the transcript with them.
func (f *folder) replayServer(transcript string) string {
	f.t.Helper()
	line, shown, _ := strings.Cut(strings.TrimPrefix(transcript, "$ "), "\n")
	f.served = new(journal)
	printed := f.served
	cmd := f.shellCommand("exec " + f.unmask(line))
	cmd.Stdout, cmd.Stderr = printed, printed
	f.must(cmd.Start())
	f.t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		late := time.AfterFunc(maxWait, func() { cmd.Process.Kill() })
		defer late.Stop()
		if err := cmd.Wait(); err != nil {
			f.t.Errorf("%s ended with %v and has printed:\n%s", line, err, printed)
		}
	})
	count := strings.Count(shown, "\n")
	var lines []string
	eventually(f.t, line+" prints as many lines as the page shows", func() bool {
		lines = strings.SplitAfter(f.mask(printed.String()), "\n")
		return len(lines) > count
	})
	return "$ " + line + "\n" + strings.Join(lines[:count], "")
}

// trimLines removes the white space at the ends of lines and empty lines.
func trimLines(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, " \n"); line != "" {
			out.WriteString(line + "\n")
		}
	}
	return out.String()
}
