package mcp

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"hatchel/adapters"
	"hatchel/adapters/program"
	"hatchel/adapters/sandbox"
	"hatchel/internal/lazyregexp"
)

// checkCommand refuses arguments that do not belong to the kind of server, and a command that would download a program.
func (c *connection) checkCommand(checks *adapters.Checks) {
	if c.Command == nil {
		const text = "%s belongs to command. A server with a url is not started."
		checks.Refuse(c.Env != nil, &c.Env, "env belongs to command. A server with a url has headers and auth.")
		checks.Refuse(c.Sandbox != nil, &c.Sandbox, text, "sandbox")
		checks.Refuse(c.Start != "", &c.Start, text, "start")
		checks.Refuse(c.StartTimeout != 0, &c.StartTimeout, text, "start_timeout")
		return
	}
	checks.Refuse(c.Headers != nil, &c.Headers, "headers belongs to url. A program gets its settings by env.")
	checks.Refuse(c.Auth != nil, &c.Auth, "auth belongs to url. A program gets a secret by env = { TOKEN = secret.… }.")
	checks.Refuse(slices.Contains(c.Command, ""), &c.Command, "A word of a command must not be empty.")
	program.CheckVariableNames(checks, &c.Env, new([]string))
	for _, e := range c.Env.Entries() {
		checks.Refuse(e.Value.Typed.CallerSpecific, &c.Env, "%s depends on the caller, and a program is started "+
			"before it has one.", e.Name)
	}
	c.Sandbox.Check(checks)
	if len(c.Command) == 0 {
		checks.Refuse(true, &c.Command, "The first word of a command names the program.")
		return
	}
	if refusal := refuseDownload(c.Command); refusal != "" {
		checks.Refuse(true, &c.Command, "%s", refusal)
		return
	}
	c.checkContainer(checks)
}

// downloaders are the words with which commands begin that download what they run, with where an import installs it.
var downloaders = []struct {
	words     []string
	installed string // with PACKAGE for the package
}{
	{[]string{"npx"}, nodeInstalled},
	{[]string{"bunx"}, nodeInstalled},
	{[]string{"bun", "x"}, nodeInstalled},
	{[]string{"npm", "exec"}, nodeInstalled},
	{[]string{"npm", "x"}, nodeInstalled},
	{[]string{"npm", "install"}, nodeInstalled},
	{[]string{"npm", "i"}, nodeInstalled},
	{[]string{"pnpm", "dlx"}, nodeInstalled},
	{[]string{"pnpx"}, nodeInstalled},
	{[]string{"yarn", "dlx"}, nodeInstalled},
	{[]string{"uvx"}, pythonInstalled},
	{[]string{"uv", "tool", "run"}, pythonInstalled},
	{[]string{"uv", "run", "--with"}, pythonInstalled},
	{[]string{"uv", "pip", "install"}, pythonInstalled},
	{[]string{"pip", "install"}, pythonInstalled},
	{[]string{"python", "-m", "pip", "install"}, pythonInstalled},
	{[]string{"pipx", "run"}, pythonInstalled},
	{[]string{"python", "-m", "pipx", "run"}, pythonInstalled},
	{[]string{"python", "-m", "uv", "tool", "run"}, pythonInstalled},
}

const (
	nodeInstalled   = `command = ["node", ".mcp/npm/node_modules/PACKAGE/dist/index.js"]`
	pythonInstalled = `command = [".mcp/py/PACKAGE/bin/PACKAGE"]`
)

// refuseDownload returns why a command is refused that downloads a program at each start; empty for another one.
func refuseDownload(command []string) string {
	words := unwrapCommand(command)
	if len(words) == 0 {
		return ""
	}
	name := programName(words[0])
	words = append([]string{name}, words[1:]...)
	for _, d := range downloaders {
		rest, ok := cutWords(words, d.words)
		if !ok {
			continue
		}
		const text = `"%s" downloads a program at each start. Run hatchel import mcp --start, or name the installed ` +
			"program, such as %s."
		pkg := packageOf(rest)
		return fmt.Sprintf(text, strings.Join(d.words, " "), strings.ReplaceAll(d.installed, "PACKAGE", pkg))
	}
	if name == "deno" {
		for _, word := range words[1:] {
			if remoteModule.MatchString(word) {
				const text = "%q is downloaded at each start. Copy the module into the configuration directory, and " +
					`name its file: command = ["deno", "run", "server.ts"].`
				return fmt.Sprintf(text, word)
			}
		}
	}
	return ""
}

// cutWords reports whether a command begins with words, with options and their values between them, and returns what
// follows.
func cutWords(command, words []string) (rest []string, ok bool) {
	for i, word := range words {
		mayHaveValue := false
		for i > 0 && len(command) > 0 && command[0] != word && (mayHaveValue || strings.HasPrefix(command[0], "-")) {
			mayHaveValue = strings.HasPrefix(command[0], "-") && !strings.Contains(command[0], "=")
			command = command[1:]
		}
		if len(command) == 0 || command[0] != word {
			return nil, false
		}
		command = command[1:]
	}
	return command, true
}

// wrappers are programs that run the command in their arguments, with their options whose value is a word of its own
// and with how many of their arguments come before the command.
var wrappers = map[string]struct {
	valueOptions []string
	arguments    int
}{
	"env":     {valueOptions: []string{"-u", "--unset", "-C", "--chdir"}},
	"nice":    {valueOptions: []string{"-n", "--adjustment"}},
	"nohup":   {},
	"setsid":  {},
	"stdbuf":  {valueOptions: []string{"-i", "-o", "-e"}},
	"time":    {},
	"timeout": {valueOptions: []string{"-k", "--kill-after", "-s", "--signal"}, arguments: 1},
	"exec":    {}, // of a shell, as the next one
	"command": {},
}

// shells are programs that run the text after -c as a command.
var shells = []string{"sh", "bash", "dash", "zsh", "ash", "ksh", "busybox", "cmd"}

// unwrapCommand returns the command that a command runs, in the end. Of a text for a shell it is the first one that
// downloads a program or runs a container, and nothing if there is none.
func unwrapCommand(words []string) []string {
	for len(words) > 0 {
		name := programName(words[0])
		if text, ok := shellText(name, words[1:]); ok {
			return unwrapText(text)
		}
		wrapper, ok := wrappers[name]
		if !ok {
			return words
		}
		arguments := wrapper.arguments
		for words = words[1:]; len(words) > 0; words = words[1:] {
			word := words[0]
			switch {
			case slices.Contains(wrapper.valueOptions, word) && len(words) > 1:
				words = words[1:]
				continue
			case name == "env" && (word == "-S" || word == "--split-string") && len(words) > 1:
				return unwrapText(strings.Join(words[1:], " "))
			case name == "env" && strings.HasPrefix(word, "-S"):
				return unwrapText(strings.TrimPrefix(word, "-S") + " " + strings.Join(words[1:], " "))
			case strings.HasPrefix(word, "-"), name == "env" && strings.Contains(word, "="):
				continue
			case arguments > 0:
				arguments--
				continue
			}
			break
		}
	}
	return nil
}

// shellText returns the text that a shell runs as commands.
func shellText(name string, words []string) (text string, ok bool) {
	if !slices.Contains(shells, name) {
		return "", false
	}
	for i, word := range words {
		isText := strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "--") && strings.HasSuffix(word, "c")
		if (isText || name == "cmd" && strings.EqualFold(word, "/c")) && i+1 < len(words) {
			return strings.Join(words[i+1:], " "), true
		}
	}
	return "", false
}

// unwrapText returns the first command of a text for a shell that downloads a program or runs a container; nil if there
// is none. Quotes do not matter for that.
func unwrapText(text string) []string {
	endsCommand := func(r rune) bool { return strings.ContainsRune(";&|()\n`", r) }
	for _, part := range strings.FieldsFunc(text, endsCommand) {
		words := strings.Fields(strings.NewReplacer(`"`, "", "'", "", `\`, "", "$", "").Replace(part))
		for len(words) > 0 && strings.Contains(words[0], "=") { // variables of the command
			words = words[1:]
		}
		words = unwrapCommand(words)
		if len(words) > 0 && (refuseDownload(words) != "" || isContainer(words)) {
			return words
		}
	}
	return nil
}

var remoteModule = lazyregexp.New(`^(https?|npm|jsr):`)

var pythonName = lazyregexp.New(`^(python|pip)[0-9.]+$`)

// programName returns the name of a program without its directory, the endings of Windows, and the version of Python
// or pip.
func programName(word string) string {
	name := path.Base(strings.ReplaceAll(word, `\`, "/"))
	for _, ending := range []string{".exe", ".cmd"} {
		name = strings.TrimSuffix(name, ending)
	}
	if pythonName.MatchString(name) {
		return strings.TrimRight(name, "0123456789.")
	}
	return name
}

// valueOptions are options of downloaders whose value is a word of its own and no package.
var valueOptions = []string{"--python", "--index-url", "--with", "--registry"}

// packageOf returns the package that the words of a downloader name, without its version.
func packageOf(words []string) string {
	for i, word := range words {
		switch {
		case strings.HasPrefix(word, "--package=") || strings.HasPrefix(word, "--from="):
			_, word, _ = strings.Cut(word, "=")
		case strings.HasPrefix(word, "-"), i > 0 && slices.Contains(valueOptions, words[i-1]):
			continue
		}
		if at := strings.LastIndexByte(word, '@'); at > 0 {
			word = word[:at]
		}
		word, _, _ = strings.Cut(word, "==")
		return word
	}
	return "PACKAGE"
}

// imageDigest matches an image that is named by its content.
var imageDigest = lazyregexp.New(`^[a-z0-9][^=]*@sha256:[0-9a-f]{64}$`)

// containerClients are programs that start containers.
var containerClients = []string{"docker", "podman", "nerdctl"}

// isContainer reports whether a command runs a container.
func isContainer(words []string) bool {
	return slices.Contains(containerClients, programName(words[0])) &&
		(slices.Contains(words, "run") || slices.Contains(words, "create"))
}

// containerFlags are the options of docker run that have no value, beside those of one letter.
var containerFlags = []string{
	"--rm", "--init", "--interactive", "--tty", "--detach", "--privileged", "--read-only", "--quiet", "--publish-all",
	"--no-healthcheck", "--oom-kill-disable", "--sig-proxy", "--disable-content-trust", "--help",
}

// imageOf returns the image that a command runs; empty if it names none.
func imageOf(words []string) string {
	at := max(slices.Index(words, "run"), slices.Index(words, "create"))
	hasValue := false
	for _, word := range words[at+1:] {
		switch {
		case hasValue:
			hasValue = false
		case strings.HasPrefix(word, "--"):
			hasValue = !strings.Contains(word, "=") && !slices.Contains(containerFlags, word)
		case strings.HasPrefix(word, "-"): // letters without a value, and one with a value that follows it
			hasValue = strings.Trim(word, "-itdPq") != "" && len(strings.TrimLeft(word, "-itdPq")) == 1
		default:
			return word
		}
	}
	return ""
}

// checkContainer refuses a container that is not bounded by what was reviewed: its client talks to a daemon that has
// all rights.
func (c *connection) checkContainer(checks *adapters.Checks) {
	words := unwrapCommand(c.Command)
	if len(words) == 0 || !isContainer(words) {
		return
	}
	client := programName(words[0])
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		checks.Refuse(name == "--privileged" && value != "false", &c.Command, "--privileged gives the container all "+
			"rights of this machine. Remove it.")
	}
	checks.Refuse(!imageDigest.MatchString(imageOf(words)), &c.Command, "%s run downloads an image "+
		"when its name means another one. Name it by its digest: \"IMAGE@sha256:…\", as %[1]s inspect --format "+
		"'{{index .RepoDigests 0}}' IMAGE prints it. Better: run the container as a service of its own, and write url.",
		client)
	checks.Refuse(c.Sandbox == nil || c.Sandbox.Mode != sandbox.ModeNone, &c.Command, "%s run asks a daemon that no "+
		"sandbox confines. Write sandbox { mode = \"none\" }. Better: run the container as a service of its own, and "+
		"write url.", client)
}
