package shelltext

import (
	"path"
	"strings"
)

// commandSpec specifies which words of a program's command line are code.
type commandSpec struct {
	code    string   // letters of short options whose argument is code
	codes   []string // longer options whose argument is code
	takes   string   // letters of short options with an argument that is data
	long    []string // longer options with an argument that is data
	operand operandKind
	skip    int    // operands before those that operand describes
	shell   bool   // -c, also combined as in -ec, makes the first operand code
	stdin   bool   // without a program in its words it reads one from its standard input
	hint    string // how to pass a value instead
}

// operandKind is the meaning of a program's operands.
type operandKind int

const (
	data       operandKind = iota
	codeFirst              // the first operand is code unless an option contains it
	fileFirst              // the first operand is a file of code unless an option contains code; others are data
	codeRest               // every operand is code
	command                // the operands are another command line
	assignment             // an operand NAME=value is code, others are data
)

const (
	hintShell = `Give the value to the code as an argument: "sh", "-c", "... \"$1\" ...", "sh", %s.`
	hintArg   = `Give the value to the program as an argument after its code: %s is then %s inside.`
	hintSQL   = `Use a sql block, which binds values.`
	hintAwk   = `Give the value in the environment and read it with ENVIRON["X"]: in a script, X=%s awk ` +
		`'... ENVIRON["X"] ...'.`
	hintJq     = `Give the value by name: "--arg", "x", %s, and read $x in the program.`
	hintRemote = `The remote shell would parse it. Make the input an enum, or send the value on the ` +
		`standard input.`
	hintFixed = `Write this word as constant text.`
)

func shellLike() commandSpec {
	return commandSpec{takes: "oO", long: []string{"--rcfile", "--init-file"}, operand: fileFirst, shell: true,
		stdin: true, hint: hintShell}
}

func interpreter(code, takes, inside string, long ...string) commandSpec {
	return commandSpec{code: code, takes: takes, codes: long, operand: fileFirst, stdin: true,
		hint: strings.Replace(hintArg, "is then %s", "is then "+inside, 1)}
}

func wrapper(takes string, skip int, long ...string) commandSpec {
	return commandSpec{takes: takes, long: long, operand: command, skip: skip, hint: hintFixed}
}

// commandSpecs are the programs that run code from their words or input. All other programs are
// assumed to treat their words as data.
var commandSpecs = map[string]commandSpec{
	"sh": shellLike(), "bash": shellLike(), "dash": shellLike(), "ash": shellLike(), "ksh": shellLike(),
	"mksh": shellLike(),
	"zsh":  shellLike(), "fish": shellLike(), "csh": shellLike(), "tcsh": shellLike(), "rbash": shellLike(),

	"python": interpreter("c", "WXm", "sys.argv[1]"), "pypy": interpreter("c", "WXm", "sys.argv[1]"),
	"perl": interpreter("eE", "IMm", "$ARGV[0]"), "ruby": interpreter("e", "IrEK", "ARGV[0]"),
	"node":   interpreter("ep", "rC", "process.argv[1]", "--eval", "--print"),
	"nodejs": interpreter("ep", "rC", "process.argv[1]", "--eval", "--print"),
	"bun":    interpreter("ep", "r", "process.argv[1]", "--eval", "--print"),
	"deno":   {codes: []string{"--eval"}, operand: codeRest, hint: hintFixed},
	"php":    interpreter("rBRE", "dcz", "$argv[1]", "--run"), "lua": interpreter("e", "l", "arg[1]"),
	"luajit":  interpreter("e", "l", "arg[1]"),
	"julia":   interpreter("eE", "p", "ARGS[1]", "--eval", "--print"),
	"Rscript": interpreter("e", "", "commandArgs(TRUE)[1]"),
	"tclsh":   interpreter("", "", "[lindex $argv 0]"), "expect": interpreter("c", "", "[lindex $argv 0]"),
	"osascript": interpreter("e", "l", "item 1 of argv"),
	"elixir":    interpreter("e", "r", "hd(System.argv())", "--eval"), "groovy": interpreter("e", "", "args[0]"),
	"scala":      interpreter("e", "", "args(0)"),
	"pwsh":       interpreter("c", "", "$args[0]", "-Command", "-command", "-EncodedCommand"),
	"powershell": interpreter("c", "", "$args[0]", "-Command", "-command", "-EncodedCommand"),
	"guile":      interpreter("c", "", "(cadr (command-line))"),
	"emacs": {codes: []string{"--eval", "--execute", "-eval",
		"-f", "--funcall"}, hint: hintFixed},

	"awk": awkLike(), "gawk": awkLike(), "mawk": awkLike(), "nawk": awkLike(),
	"sed": sedLike(), "gsed": sedLike(),
	"jq": {takes: "L", long: []string{"--indent", "--arg", "--argjson", "--slurpfile", "--rawfile"},
		operand: codeFirst, hint: hintJq},
	"yq": {code: "", operand: codeFirst, hint: `Give the value in the environment and read it with strenv(X).`},
	"bc": {code: "e", codes: []string{"--expression"}, stdin: true, hint: hintFixed},
	"dc": {code: "e", codes: []string{"--expression"}, stdin: true, hint: hintFixed},
	"ed": {stdin: true, hint: hintFixed}, "ex": {code: "c", stdin: true, hint: hintFixed},
	"vi": {code: "c", hint: hintFixed}, "vim": {code: "cS", codes: []string{"--cmd"}, hint: hintFixed},
	"gdb": {codes: []string{"-ex", "-iex", "--eval-command", "-x"}, hint: hintFixed},

	"psql":    {code: "c", codes: []string{"--command"}, takes: "dfhopPRTUvFL", stdin: true, hint: hintSQL},
	"mysql":   {code: "e", codes: []string{"--execute", "--init-command"}, takes: "uhPDS", stdin: true, hint: hintSQL},
	"mariadb": {code: "e", codes: []string{"--execute", "--init-command"}, takes: "uhPDS", stdin: true, hint: hintSQL},
	"sqlite3": {codes: []string{"-cmd"}, long: []string{"-separator", "-newline", "-nullvalue", "-init", "-mmap",
		"-vfs"}, operand: codeRest, skip: 1, stdin: true, hint: hintSQL},
	"duckdb": {code: "c", codes: []string{"-cmd"}, operand: codeRest, skip: 1, stdin: true, hint: hintSQL},
	"sqlcmd": {code: "qQ", hint: hintSQL}, "clickhouse-client": {code: "q", codes: []string{"--query"}, stdin: true,
		hint: hintSQL},
	"mongosh": {codes: []string{"--eval"}, operand: data, stdin: true, hint: hintFixed},

	"env": {code: "S", codes: []string{"--split-string"}, takes: "uC", long: []string{"--unset", "--chdir"},
		operand: command, hint: hintFixed},
	"sudo": wrapper("ugpCrtThDR", 0, "--user", "--group", "--prompt", "--chdir", "--host"), "doas": wrapper("uC", 0),
	"nice": wrapper("n", 0, "--adjustment"), "nohup": wrapper("", 0),
	"timeout": wrapper("ks", 1, "--kill-after", "--signal"), "stdbuf": wrapper("ioe", 0), "setsid": wrapper("", 0),
	"ionice": wrapper("cnp", 0), "chrt": wrapper("TPD", 1),
	"taskset": wrapper("", 1), "chroot": wrapper("", 1), "unshare": wrapper("", 0), "nsenter": wrapper("t", 0),
	"time": wrapper("fo", 0), "busybox": wrapper("", 0),
	"xargs": wrapper("IiLlnPsdEea", 0, "--replace", "--max-lines", "--max-args", "--max-procs", "--delimiter",
		"--arg-file"),
	"command": wrapper("", 0), "exec": wrapper("a", 0), "builtin": wrapper("", 0), "catchsegv": wrapper("", 0),
	"strace": wrapper("eopsu", 0), "ltrace": wrapper("eopsu", 0),
	"systemd-run": wrapper("puMH", 0, "--unit", "--property", "--uid", "--gid"),
	"runuser":     {code: "c", codes: []string{"--command"}, takes: "ugG", operand: command, hint: hintFixed},
	"su":          {code: "c", codes: []string{"--command"}, takes: "gGsw", hint: hintFixed},
	"flock":       {code: "c", codes: []string{"--command"}, takes: "wE", operand: command, skip: 1, hint: hintFixed},
	"watch":       {takes: "nd", operand: codeRest, hint: hintFixed},
	"parallel":    {takes: "jIaN", operand: codeRest, hint: hintFixed},
	"script":      {code: "c", codes: []string{"--command"}, hint: hintFixed},
	"ssh":         {takes: "BbcDEeFIiJLlmpQRSWw", code: "oO", operand: codeRest, skip: 1, hint: hintRemote},
	"scp":         {code: "oS", takes: "cFiJlP", hint: hintFixed},
	"sftp":        {code: "oSD", takes: "bcFiJlP", hint: hintFixed},
	"rsync":       {code: "e", codes: []string{"--rsh", "--rsync-path"}, hint: hintFixed},
	"tar": {code: "I", codes: []string{"--to-command", "--checkpoint-action", "--use-compress-program",
		"--rsh-command", "--info-script", "--new-volume-script"}, hint: hintFixed},
	"git": {code: "c", codes: []string{"--config-env", "--exec-path", "--upload-pack", "--receive-pack"},
		takes: "C", long: []string{"--git-dir", "--work-tree"}, hint: hintFixed},
	"make": {codes: []string{"--eval", "-E"}, operand: assignment,
		hint: `Give the value in the environment of make and read it in the recipe with "$$X".`},
	"nc": {code: "ec", hint: hintFixed}, "ncat": {code: "ec", codes: []string{"--exec", "--sh-exec", "--lua-exec"},
		hint: hintFixed},
	"socat": {operand: codeRest, hint: hintFixed}, "at": {takes: "fqt", stdin: true, hint: hintFixed},
	"batch": {stdin: true, hint: hintFixed}, "crontab": {operand: fileFirst, takes: "u", stdin: true,
		hint: hintFixed},
	"eval": {operand: codeRest, hint: `There is no safe way to build code from a value; write the command out.`},
	"trap": {operand: codeFirst, hint: hintFixed}, "alias": {operand: codeRest, hint: hintFixed},
	".":        {operand: fileFirst, stdin: true, hint: hintFixed},
	"source":   {operand: fileFirst, stdin: true, hint: hintFixed},
	"jobs":     {operand: codeRest, code: "x", hint: hintFixed},
	"compgen":  {operand: codeRest, code: "WCFG", hint: hintFixed},
	"complete": {operand: codeRest, code: "WCFG", hint: hintFixed},
	"bind":     {operand: codeRest, code: "x", hint: hintFixed},
	"enable":   {operand: codeRest, code: "f", hint: hintFixed},
	"hash":     {operand: codeRest, code: "p", hint: hintFixed}, "fc": {operand: codeRest, code: "e", hint: hintFixed},
	"man": {code: "PH", hint: hintFixed}, "zip": {codes: []string{"-TT", "--unzip-command"}, hint: hintFixed},
	"wget": {code: "e", codes: []string{"--execute", "--use-askpass"}, hint: hintFixed},
	"curl": {code: "K", codes: []string{"--config"}, hint: hintFixed},
}

func awkLike() commandSpec {
	return commandSpec{code: "e", codes: []string{"--source", "-f", "--file"}, takes: "vF",
		long: []string{"--assign", "--field-separator"}, operand: codeFirst, hint: hintAwk}
}

func sedLike() commandSpec {
	return commandSpec{code: "ef", codes: []string{"--expression", "--file"}, takes: "l", operand: codeFirst,
		hint: hintAwk}
}

// commandRunners run the command line that follows their own words.
var commandRunners = map[string]bool{
	"docker": true, "podman": true, "kubectl": true, "oc": true, "nerdctl": true, "lxc": true, "flatpak": true,
	"vagrant": true, "ssh": true, "nix-shell": true, "npx": true,
	"docker-compose": true, "crictl": true, "machinectl": true, "toolbox": true, "distrobox": true, "conda": true,
	"poetry": true, "pipenv": true, "uv": true, "bundle": true,
}

// lookup finds a program by its file name, without a version: python3.11 is python.
func lookup(word string) (string, commandSpec, bool) {
	name := path.Base(word)
	if p, ok := commandSpecs[name]; ok {
		return name, p, true
	}
	short := strings.TrimRight(name, "0123456789.-")
	p, ok := commandSpecs[short]
	return name, p, ok && short != ""
}
