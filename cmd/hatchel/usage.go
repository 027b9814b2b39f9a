package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hatchel/hcl/spelling"
	"hatchel/internal/lazyregexp"
)

// renamedFlags maps a command and a flag that was renamed to the new name.
var renamedFlags = map[[2]string]string{{"list", "of"}: "kind"}

// notFlags has sentences for what needs no flag, by a command and the flag that another program has.
var notFlags = map[[2]string]string{
	{"fmt", "w"}:          "fmt writes the files unless --check or --diff is given",
	{"fmt", "write"}:      "fmt writes the files unless --check or --diff is given",
	{"fmt", "recursive"}:  "fmt formats the files of all folders below a directory",
	{"serve", "env-file"}: "Secrets are read from the environment of the process; --var-file reads variables",
	{"call", "env-file"}:  "Secrets are read from the environment of the process; --var-file reads variables",
}

// otherFlags are the flags of other programs, each with the flags that do the same here, in the order in which they are
// suggested: the first that the command has. What follows a flag is an example of its value.
var otherFlags = map[string][]string{
	"C":             {"-o DIRECTORY"},
	"port":          {"--listen 127.0.0.1:8080", "--server http://127.0.0.1:8080"},
	"p":             {"--listen 127.0.0.1:8080", "--server http://127.0.0.1:8080"},
	"host":          {"--listen 127.0.0.1:8080", "--server http://127.0.0.1:8080"},
	"addr":          {"--listen 127.0.0.1:8080", "--server http://127.0.0.1:8080"},
	"address":       {"--listen 127.0.0.1:8080", "--server http://127.0.0.1:8080"},
	"bind":          {"--listen 127.0.0.1:8080"},
	"url":           {"--server http://127.0.0.1:8080"},
	"endpoint":      {"--server http://127.0.0.1:8080"},
	"s":             {"--server http://127.0.0.1:8080"},
	"transport":     {"--stdio, and HTTP without it"},
	"http":          {"--listen 127.0.0.1:8080"},
	"c":             {"-C DIRECTORY", "-o DIRECTORY"},
	"config":        {"-C DIRECTORY", "-o DIRECTORY"},
	"config-dir":    {"-C DIRECTORY", "-o DIRECTORY"},
	"config-file":   {"-C DIRECTORY", "-o DIRECTORY"},
	"d":             {"-C DIRECTORY", "-o DIRECTORY"},
	"directory":     {"-C DIRECTORY", "-o DIRECTORY"},
	"dir":           {"-C DIRECTORY", "-o DIRECTORY"},
	"chdir":         {"-C DIRECTORY", "-o DIRECTORY"},
	"cwd":           {"-C DIRECTORY", "-o DIRECTORY"},
	"path":          {"-C DIRECTORY", "-o DIRECTORY"},
	"f":             {"-C DIRECTORY", "--follow", "-o DIRECTORY"},
	"file":          {"-C DIRECTORY", "-o DIRECTORY"},
	"o":             {"--format json", "--json"},
	"output":        {"--format json", "--json"},
	"format":        {"--json", "--log-format json"},
	"output-format": {"--format json", "--json"},
	"v":             {"--trace", "--log-level debug"},
	"verbose":       {"--trace", "--log-level debug"},
	"debug":         {"--trace", "--log-level debug"},
	"quiet":         {"--log-level error"},
	"q":             {"--log-level error"},
	"arguments":     {"--args '{\"id\": 42}'", "--arg NAME=VALUE"},
	"args":          {"--arg NAME=VALUE"},
	"a":             {"--arg NAME=VALUE"},
	"argument":      {"--arg NAME=VALUE"},
	"input":         {"--arg NAME=VALUE"},
	"param":         {"--arg NAME=VALUE"},
	"set":           {"--var NAME=VALUE"},
	"user":          {"--subject NAME"},
	"role":          {"--group NAME"},
	"plan":          {"--dry-run"},
	"n":             {"--dry-run"},
	"y":             {"--approve"},
	"yes":           {"--approve"},
	"auto-approve":  {"--approve"},
	"force":         {"--all", "--approve"},
	"no-auth":       {"--insecure-no-auth"},
	"insecure":      {"--insecure-no-auth"},
	"reload":        {"--watch"},
	"interval":      {"--every 30s"},
	"filter":        {"--run PATTERN", "--tool NAME"},
	"dry-run":       {"--check"},
}

// otherCommands are the commands of other programs, with what does the same here.
var otherCommands = map[string]string{
	"plan":        "hatchel diff, which shows what a change means for callers",
	"apply":       "hatchel serve, which reloads a directory when a file changes",
	"deploy":      "hatchel serve, which reloads a directory when a file changes",
	"reload":      "hatchel serve, which reloads a directory when a file changes",
	"run":         "hatchel serve, or hatchel call for one tool",
	"start":       "hatchel serve",
	"up":          "hatchel serve",
	"dev":         "hatchel serve, which reloads a directory when a file changes",
	"watch":       "hatchel serve, which reloads a directory when a file changes",
	"server":      "hatchel serve",
	"stdio":       "hatchel serve --stdio",
	"mcp":         "hatchel serve --stdio",
	"http":        "hatchel serve",
	"check":       "hatchel validate",
	"verify":      "hatchel validate",
	"format":      "hatchel fmt",
	"exec":        "hatchel call",
	"invoke":      "hatchel call",
	"execute":     "hatchel call",
	"tool":        "hatchel list, or hatchel call for one tool",
	"tools":       "hatchel list",
	"ls":          "hatchel list",
	"describe":    "hatchel list",
	"inspect":     "hatchel list",
	"get":         "hatchel read",
	"cat":         "hatchel read",
	"new":         "hatchel init",
	"create":      "hatchel init",
	"generate":    "hatchel import",
	"gen":         "hatchel import",
	"convert":     "hatchel import",
	"swagger":     "hatchel import openapi",
	"logs":        "hatchel events, or hatchel audit",
	"log":         "hatchel events, or hatchel audit",
	"ui":          "hatchel console",
	"dashboard":   "hatchel console",
	"open":        "hatchel console",
	"health":      "hatchel ready",
	"healthcheck": "hatchel ready",
	"status":      "hatchel ready",
	"ping":        "hatchel ready",
	"schema":      "hatchel docs, or hatchel import schema",
	"reference":   "hatchel docs",
	"man":         "hatchel docs",
	"freeze":      "hatchel lock",
	"snapshot":    "hatchel lock",
	"keygen":      "hatchel key new",
	"token":       "hatchel key new",
	"pending":     "hatchel approvals list",
	"deny":        "hatchel approvals reject",
	"state":       "hatchel approvals, which reads the state of a server",
}

var (
	exclusiveFlags = lazyregexp.New(`^if any flags in the group .* \[(.*)\] were all set$`)
	unknownCommand = lazyregexp.New(`^unknown command ("(?:[^"\\]|\\.)*") for `)
)

// usageText rewords errors of the command line parser.
func usageText(cmd *cobra.Command, err error) string {
	if m := exclusiveFlags.FindStringSubmatch(err.Error()); m != nil {
		return "--" + strings.Join(strings.Fields(m[1]), " and --") + " cannot be used together"
	}
	if m := unknownCommand.FindStringSubmatch(err.Error()); m != nil {
		switch word, err := strconv.Unquote(m[1]); {
		case err == nil && !cmd.HasSubCommands():
			note := ""
			if cmd.Flags().Lookup("server") != nil && strings.Contains(word, "://") {
				note = ": write --server " + word
			}
			return fmt.Sprintf("%s takes no arguments, and %q is one%s", cmd.CommandPath(), word, note)
		case err == nil:
			return fmt.Sprintf("%s has no command %q%s", cmd.CommandPath(), word, similarCommand(cmd, word))
		}
	}
	return err.Error()
}

// similarCommand returns the sentence that names what an unknown command may mean, or "".
func similarCommand(cmd *cobra.Command, word string) string {
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "-") && !cmd.HasParent() {
		return ". Flags follow the command, as in hatchel serve -C tools"
	}
	if path := samePath(cmd.Root(), word); path != "" {
		return fmt.Sprintf(". Did you mean %s?", path)
	}
	if other := otherCommands[word]; other != "" && !cmd.HasParent() {
		return ". Use " + other
	}
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	if name := spelling.Nearest(word, names); name != "" {
		return fmt.Sprintf(". Did you mean %s %s?", cmd.CommandPath(), name)
	}
	if cmd.HasParent() && len(names) > 0 {
		return ". It has " + strings.Join(names, ", ")
	}
	return ""
}

// samePath returns the command or subcommand that has a name, as it is written, or "".
func samePath(root *cobra.Command, name string) string {
	for _, c := range root.Commands() {
		if c.Name() == name {
			return c.CommandPath()
		}
		for _, sub := range c.Commands() {
			if sub.Name() == name {
				return sub.CommandPath()
			}
		}
	}
	return ""
}

// flagError reports what an unknown flag may mean.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	name, given := unknown.GetSpecifiedName(), "--"+unknown.GetSpecifiedName()
	if short := unknown.GetSpecifiedShortnames(); short != "" {
		if name, given = singleDash(cmd, short); given == "--" {
			const text = "-%s is no flag of %s: long names have two dashes. Write --%[1]s"
			return fmt.Errorf(text, name, cmd.CommandPath())
		}
	}
	if renamed := renamedFlags[[2]string{cmd.Name(), name}]; renamed != "" {
		return fmt.Errorf("--%s was renamed to --%s", name, renamed)
	}
	if note := notFlags[[2]string{cmd.Name(), name}]; note != "" {
		return fmt.Errorf("%s is no flag of %s. %s", given, cmd.CommandPath(), note)
	}
	return fmt.Errorf("%s is no flag of %s%s", given, cmd.CommandPath(), similarFlag(cmd, name))
}

// singleDash returns the name and the notation of what begins with a single dash and is no flag: a letter, or a long
// name as programs of Terraform and Go write it, whose notation is "--" when the command has it.
func singleDash(cmd *cobra.Command, letters string) (name, given string) {
	word, _, _ := strings.Cut(letters, "=")
	long := []string{word}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Shorthand != "" { // which was read as a flag of its own, before the rest of the word
			long = append(long, f.Shorthand+word)
		}
	})
	for _, name := range long {
		if len(name) > 1 && cmd.Flags().Lookup(name) != nil {
			return name, "--"
		}
	}
	if len(word) > 1 && (otherFlags[word] != nil || spelling.Nearest(word, flagNames(cmd)) != "") {
		return word, "-" + word
	}
	return word[:1], "-" + word[:1]
}

// similarFlag returns the sentence that names what an unknown flag may mean, or "".
func similarFlag(cmd *cobra.Command, name string) string {
	for _, other := range otherFlags[name] {
		word, _, _ := strings.Cut(other, " ")
		word = strings.TrimRight(word, ",")
		switch {
		case strings.HasPrefix(word, "--") && cmd.Flags().Lookup(word[2:]) != nil,
			strings.HasPrefix(word, "-") && len(word) == 2 && cmd.Flags().ShorthandLookup(word[1:]) != nil:
			return ". Use " + withPort(other, name)
		}
	}
	if near := spelling.Nearest(name, flagNames(cmd)); near != "" && len(name) > 1 {
		return fmt.Sprintf(". Did you mean --%s?", near)
	}
	var commands []string
	for _, c := range cmd.Root().Commands() {
		if c.Flags().Lookup(name) != nil && c.Name() != "help" {
			commands = append(commands, c.Name())
		}
	}
	if len(commands) > 0 && len(commands) < 4 {
		slices.Sort(commands)
		return ", but of " + strings.Join(commands, ", ")
	}
	return ""
}

// withPort returns an example of an address with the port that the command line gives to a flag, if it is a port.
func withPort(example, flag string) string {
	for i, arg := range os.Args {
		name, value, joined := strings.Cut(arg, "=")
		if !joined && i+1 < len(os.Args) {
			value = os.Args[i+1]
		}
		if name != "-"+flag && name != "--"+flag {
			continue
		}
		if _, err := strconv.ParseUint(value, 10, 16); err == nil {
			return strings.Replace(example, "8080", value, 1)
		}
	}
	return example
}

// flagNames returns the names of the flags of a command.
func flagNames(cmd *cobra.Command) (names []string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}
