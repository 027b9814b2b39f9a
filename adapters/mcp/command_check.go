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
	{[]string{"pnpm", "dlx"}, nodeInstalled},
	{[]string{"pnpx"}, nodeInstalled},
	{[]string{"yarn", "dlx"}, nodeInstalled},
	{[]string{"uvx"}, pythonInstalled},
	{[]string{"uv", "tool", "run"}, pythonInstalled},
	{[]string{"pipx", "run"}, pythonInstalled},
}

const (
	nodeInstalled   = `command = ["node", ".mcp/npm/node_modules/PACKAGE/dist/index.js"]`
	pythonInstalled = `command = [".mcp/py/PACKAGE/bin/PACKAGE"]`
)

// refuseDownload returns why a command is refused that downloads a program at each start; empty for another one.
func refuseDownload(command []string) string {
	name := programName(command[0])
	if name == "env" { // the command comes after its variables and options
		rest := slices.DeleteFunc(slices.Clone(command[1:]), func(word string) bool {
			return strings.HasPrefix(word, "-") || strings.Contains(word, "=")
		})
		if len(rest) > 0 {
			return refuseDownload(rest)
		}
	}
	words := append([]string{name}, command[1:]...)
	for _, d := range downloaders {
		if len(words) < len(d.words) || !slices.Equal(words[:len(d.words)], d.words) {
			continue
		}
		const text = `"%s" downloads a program at each start. Run hatchel import mcp --start, or name the installed ` +
			"program, such as %s."
		pkg := packageOf(words[len(d.words):])
		return fmt.Sprintf(text, strings.Join(d.words, " "), strings.ReplaceAll(d.installed, "PACKAGE", pkg))
	}
	if name == "deno" && len(words) > 1 && words[1] == "run" {
		for _, word := range words[2:] {
			if remoteModule.MatchString(word) {
				const text = "%q is downloaded at each start. Copy the module into the configuration directory, and " +
					`name its file: command = ["deno", "run", "server.ts"].`
				return fmt.Sprintf(text, word)
			}
		}
	}
	return ""
}

var remoteModule = lazyregexp.New(`^(https?|npm|jsr):`)

// programName returns the name of a program without its directory and the endings of Windows.
func programName(word string) string {
	name := path.Base(strings.ReplaceAll(word, `\`, "/"))
	for _, ending := range []string{".exe", ".cmd"} {
		name = strings.TrimSuffix(name, ending)
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
var imageDigest = lazyregexp.New(`@sha256:[0-9a-f]{64}$`)

// checkContainer refuses a container that is not bounded by what was reviewed: its client talks to a daemon that has
// all rights.
func (c *connection) checkContainer(checks *adapters.Checks) {
	client := programName(c.Command[0])
	if !slices.Contains([]string{"docker", "podman", "nerdctl"}, client) || !slices.Contains(c.Command, "run") {
		return
	}
	for _, word := range c.Command {
		name, value, _ := strings.Cut(word, "=")
		checks.Refuse(name == "--privileged" && value != "false", &c.Command, "--privileged gives the container all "+
			"rights of this machine. Remove it.")
	}
	checks.Refuse(!slices.ContainsFunc(c.Command, imageDigest.MatchString), &c.Command, "%s run downloads an image "+
		"when its name means another one. Name it by its digest: \"IMAGE@sha256:…\", as %[1]s inspect --format "+
		"'{{index .RepoDigests 0}}' IMAGE prints it. Better: run the container as a service of its own, and write url.",
		client)
	checks.Refuse(c.Sandbox == nil || c.Sandbox.Mode != sandbox.ModeNone, &c.Command, "%s run asks a daemon that no "+
		"sandbox confines. Write sandbox { mode = \"none\" }. Better: run the container as a service of its own, and "+
		"write url.", client)
}
