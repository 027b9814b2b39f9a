package shelltext

import (
	"path"
	"strings"

	"hatchel/hcl/template"
)

// commandSpec specifies which words of a program's command line are code.
type commandSpec struct {
	code    string // letters of short options whose argument is code
	codes   string // longer options whose argument is code
	files   string // options whose argument is a file of code, instead of an operand
	loads   string // options whose argument is code, or a file of it, that is run in addition
	adds    string // options whose argument is code that is run in addition
	paths   string // options whose argument is a file or a folder
	takes   string // letters of short options with an argument that is data
	long    string // longer options with an argument that is data
	operand operandKind
	skip    int    // operands before those that operand describes
	rest    bool   // the operands after the code are names of files
	shell   bool   // -c, also combined as in -ec, makes the first operand code
	stdin   bool   // without a program in its words it reads one from its standard input
	always  bool   // it always runs its standard input
	remote  bool   // its commands run on another machine or in a container, with other files
	hint    string // how to pass a value instead; empty for hintFixed

	runsShell bool // the code of its options is of a shell
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
	file                   // the operands are names of files
)

const (
	hintShell = `Give the value to the code as an argument: "sh", "-c", "... \"$1\" ...", "sh", %s.`
	hintSQL   = `Use a sql block, which binds values.`
	hintAwk   = `Give the value in the environment and read it with ENVIRON["X"]: in a script, X=%s awk ` +
		`'... ENVIRON["X"] ...'.`
	hintJq     = `Give the value by name: "--arg", "x", %s, and read $x in the program.`
	hintRemote = `The remote shell would parse it. Make the input an enum, or send the value on the standard input.`
	hintFixed  = `Write this word as constant text.`
)

// interpreter specifies a program that reads a value given as an argument with the code inside.
func interpreter(code, takes, inside, codes, loads string) commandSpec {
	return commandSpec{code: code, takes: takes, codes: codes, loads: loads, operand: fileFirst, stdin: true,
		hint: `Give the value to the program as an argument after its code: %s is then ` + inside + ` inside.`}
}

func withFiles(s commandSpec, options string) commandSpec {
	s.files = options
	return s
}

// wrapper specifies a program that runs the command line in its operands.
func wrapper(takes string, skip int, long string) commandSpec {
	return commandSpec{takes: takes, long: long, operand: command, skip: skip}
}

// shellWrapper specifies a wrapper that runs a shell if there is no command line.
func shellWrapper(takes string, skip int, long string) commandSpec {
	s := wrapper(takes, skip, long)
	s.stdin = true
	return s
}

// fileReader specifies a program whose operands are files or folders.
func fileReader(takes, paths string) commandSpec {
	return commandSpec{takes: takes, paths: paths, operand: file}
}

// commandSpecs are the programs that run code from their words or input, or that take names of files. All other
// programs are assumed to treat their words as data.
var commandSpecs = expandNames(map[string]commandSpec{
	"sh bash dash ash ksh mksh zsh fish csh tcsh rbash yash nu elvish xonsh": {takes: "oO",
		loads: "--rcfile --init-file", operand: fileFirst,
		shell: true, stdin: true, hint: hintShell},

	"python pypy": withFiles(interpreter("c", "WX", "sys.argv[1]", "", ""), "-m"),
	"perl":        interpreter("eE", "", "$ARGV[0]", "", "-I -M -m"),
	"ruby":        interpreter("e", "EK", "ARGV[0]", "", "-I -r"),
	"node nodejs": interpreter("ep", "C", "process.argv[1]", "--eval --print -pe",
		"-r --require --import --loader --experimental-loader"),
	"bun":             interpreter("ep", "", "process.argv[1]", "--eval --print", "-r --preload"),
	"php":             interpreter("rBRE", "", "$argv[1]", "--run", "-d -c -z"),
	"lua luajit":      interpreter("e", "", "arg[1]", "", "-l"),
	"julia":           interpreter("eE", "p", "ARGS[1]", "--eval --print", "-L --load"),
	"Rscript":         interpreter("e", "", "commandArgs(TRUE)[1]", "", ""),
	"tclsh":           interpreter("", "", "[lindex $argv 0]", "", ""),
	"expect":          interpreter("c", "", "[lindex $argv 0]", "", ""),
	"osascript":       interpreter("e", "l", "item 1 of argv", "", ""),
	"elixir":          interpreter("e", "", "hd(System.argv())", "--eval", "-r"),
	"groovy":          interpreter("e", "", "args[0]", "", ""),
	"scala":           interpreter("e", "", "args(0)", "", ""),
	"pwsh powershell": interpreter("c", "", "$args[0]", "-Command -command -EncodedCommand", ""),
	"guile":           interpreter("c", "", "(cadr (command-line))", "", ""),
	"deno":            {codes: "--eval", operand: codeRest, stdin: true},
	"deno-run go-run": {operand: fileFirst, stdin: true},
	"java": {takes: "p", files: "-jar", loads: "-cp -classpath --class-path", long: "--source",
		operand: fileFirst, stdin: true},
	"R octave octave-cli gnuplot maxima gp erl iex irb ipython ghci racket clojure clj swipl sbcl clisp ocaml wish": {
		code: "eg", codes: "--eval -eval", files: "-f --file --script", loads: "-l --load", operand: fileFirst,
		stdin: true},
	"jshell groovysh": {operand: fileFirst, stdin: true},

	"emacs":   {codes: "--eval --execute -eval -f --funcall", loads: "-l --load --script"},
	"m4":      {adds: "-D --define", takes: "BFtI", operand: fileFirst, stdin: true},
	"crontab": {operand: fileFirst, takes: "u", stdin: true},
	"awk gawk mawk nawk": {code: "e", codes: "--source", files: "-f --file -E --exec", loads: "-i --include -l --load",
		takes: "vF", long: "--assign --field-separator", operand: codeFirst, rest: true, hint: hintAwk},
	"sed gsed": {code: "e", codes: "--expression", files: "-f --file", takes: "l", operand: codeFirst, rest: true,
		hint: hintAwk},
	"jq": {files: "-f --from-file", loads: "-L", long: "--indent --arg --argjson", paths: "--slurpfile --rawfile",
		operand: codeFirst, rest: true, hint: hintJq},
	"yq": {operand: codeFirst, rest: true,
		hint: `Give the value in the environment and read it with strenv(X).`},

	"yq-e yq-eval yq-ea yq-eval-all": {operand: codeFirst, rest: true},
	"bc dc": {code: "e", codes: "--expression", files: "-f --file", operand: fileFirst,
		stdin: true},
	"ed red": {operand: codeRest, takes: "p", always: true},
	"batch":  {always: true},

	"ex vi vim nvim view": {code: "c", codes: "--cmd", loads: "-S -u -s", always: true},
	"gdb":                 {codes: "-ex -iex --eval-command", loads: "-x --command", always: true},
	"lldb":                {codes: "-o -O --one-line", loads: "-s --source", always: true},
	"at":                  {files: "-f", takes: "qt", stdin: true},

	"psql": {code: "c", codes: "--command", files: "-f --file", takes: "dhopPRTUvFL", stdin: true,
		hint: hintSQL},
	"mysql mariadb": {code: "e", codes: "--execute", adds: "--init-command", takes: "uhPDS", stdin: true,
		hint: hintSQL},
	"sqlite3": {adds: "-cmd", loads: "-init", long: "-separator -newline -nullvalue -mmap -vfs",
		operand: codeRest, skip: 1,
		stdin: true, hint: hintSQL},

	"duckdb": {code: "cs", adds: "-cmd", loads: "-init", operand: codeRest, skip: 1, stdin: true,
		hint: hintSQL},

	"sqlcmd":                             {code: "qQ", stdin: true, hint: hintSQL},
	"clickhouse-client clickhouse-local": {code: "q", codes: "--query", stdin: true, hint: hintSQL},
	"clickhouse":                         {},
	"mongosh mongo":                      {codes: "--eval", stdin: true},
	"cqlsh trino usql hive beeline impala-shell sqlplus isql snowsql influx": {code: "e", codes: "--execute",
		stdin: true, hint: hintSQL},

	"env": {code: "S", codes: "--split-string", takes: "u", long: "--unset", paths: "-C --chdir",
		operand: command, runsShell: true},
	"runuser": {code: "c", codes: "--command", takes: "ugG", operand: command, stdin: true,
		runsShell: true},
	"flock": {code: "c", codes: "--command", takes: "wE", operand: command, skip: 1,
		runsShell: true},

	"sudo":                     shellWrapper("ugpCrtThDR", 0, "--user --group --prompt --chdir --host"),
	"doas":                     shellWrapper("uC", 0, ""),
	"unshare":                  shellWrapper("SGw", 0, ""),
	"nsenter":                  shellWrapper("tSG", 0, "--target"),
	"chroot":                   shellWrapper("", 1, ""),
	"setarch":                  shellWrapper("", 1, ""),
	"linux32 linux64 fakeroot": shellWrapper("", 0, ""),

	"setpriv": wrapper("", 0, "--reuid --regid --ruid --euid --rgid --egid --groups --inh-caps --ambient-caps "+
		"--bounding-set --securebits --pdeathsig --selinux-label --apparmor-profile"),
	"nice": wrapper("n", 0, "--adjustment"),
	"nohup setsid busybox toybox command builtin catchsegv": wrapper("", 0, ""),

	"choom numactl prlimit sshpass xvfb-run unbuffer rlwrap valgrind dumb-init tini": wrapper("nNmpfds", 0, ""),
	"bwrap firejail proot torsocks proxychains dbus-run-session":                     wrapper("", 0, ""),
	"gosu su-exec faketime cgexec":                                                   wrapper("g", 1, ""),

	"timeout":       wrapper("ks", 1, "--kill-after --signal"),
	"stdbuf":        wrapper("ioe", 0, ""),
	"ionice":        wrapper("cnp", 0, ""),
	"chrt":          wrapper("TPD", 1, ""),
	"taskset":       wrapper("", 1, ""),
	"time":          wrapper("fo", 0, ""),
	"exec":          wrapper("a", 0, ""),
	"strace ltrace": wrapper("eopsu", 0, ""),
	"systemd-run":   wrapper("puMH", 0, "--unit --property --uid --gid"),
	"xargs": wrapper("IiLlnPsdEea", 0,
		"--replace --max-lines --max-args --max-procs --delimiter --arg-file"),

	"docker podman nerdctl docker-compose": {takes: "Hclfp", long: "--host --context --config --file --log-level"},
	"kubectl oc": {takes: "ns",
		long: "--namespace --context --kubeconfig --cluster --user --server"},

	"docker-exec podman-exec nerdctl-exec docker-compose-exec": {takes: "euw", skip: 1,
		long: "--env --env-file --user --workdir --index", operand: command, remote: true},
	"docker-run podman-run nerdctl-run docker-compose-run": {codes: "--entrypoint", takes: "aceghlmpuvw", skip: 1,
		long: "--name --volume --mount --env --env-file --user --workdir --network --net --publish --memory --cpus " +
			"--label --hostname --platform --pull --cap-add --cap-drop --tmpfs --ulimit --gpus --device --add-host",
		operand: command, remote: true},
	"kubectl-exec oc-exec": {takes: "cn", long: "--container --namespace --context", operand: command, skip: 1,
		remote: true},

	"lxc-exec":    {long: "--env --user --group --cwd", operand: command, skip: 1, remote: true},
	"lxc vagrant": {},
	"vagrant-ssh": {code: "c", codes: "--command", stdin: true},

	"su":       {code: "c", codes: "--command", takes: "gGw", loads: "-s --shell", stdin: true, runsShell: true},
	"sg":       {code: "c", operand: codeRest, skip: 1, stdin: true, runsShell: true},
	"newgrp":   {stdin: true},
	"script":   {code: "c", codes: "--command", stdin: true, runsShell: true},
	"watch":    {takes: "nd", operand: codeRest},
	"parallel": {takes: "jIaN", operand: codeRest, always: true},
	"ssh": {takes: "BbcDEeIiJLlmOpQRSWw", adds: "-o", loads: "-F", operand: codeRest, skip: 1, stdin: true,
		remote: true, hint: hintRemote},
	"scp":                {code: "oS", loads: "-F", takes: "ciJlP"},
	"sftp":               {code: "oSD", loads: "-F -b", takes: "ciJlP", always: true},
	"ftp lftp smbclient": {code: "ec", always: true},
	"rsync":              {code: "e", codes: "--rsh --rsync-path"},
	"tar": {code: "IF", paths: "-f --file -C --directory -T --files-from -X --exclude-from",
		codes: "--to-command --checkpoint-action --use-compress-program --rsh-command --rmt-command " +
			"--info-script --new-volume-script"},
	"git": {code: "c", codes: "--config-env --exec-path --upload-pack --receive-pack",
		paths: "-C --git-dir --work-tree"},

	"git-clone": {code: "cu", codes: "--config --upload-pack", loads: "--template", takes: "bjo",
		long: "--branch --depth --origin --reference --filter"},
	"git-push git-ls-remote git-fetch-pack git-archive": {codes: "--exec --receive-pack --upload-pack", takes: "o"},
	"git-bisect git-submodule":                          {},
	"git-bisect-run":                                    wrapper("", 0, ""),
	"git-submodule-foreach":                             {operand: codeRest},
	"git-filter-branch": {codes: "--setup --env-filter --tree-filter --index-filter --parent-filter --msg-filter " +
		"--commit-filter --tag-name-filter"},
	"git-grep":     {code: "O", codes: "--open-files-in-pager", takes: "ABCefm"},
	"git-rebase":   {code: "x", codes: "--exec"},
	"git-difftool": {code: "x", codes: "--extcmd"},
	"make gmake bmake": {codes: "--eval -E", files: "-f --file --makefile", loads: "-C --directory -I --include-dir",
		operand: assignment,
		hint:    `Give the value in the environment of make and read it in the recipe with "$$X".`},

	"nc":          {code: "ec"},
	"ncat":        {code: "ec", codes: "--exec --sh-exec --lua-exec"},
	"socat alias": {operand: codeRest},

	"ninja just":  {files: "-f --justfile", takes: "Cjkl"},
	"cmake":       {loads: "-P -C"},
	"man":         {code: "PH", codes: "--pager"},
	"npx":         {code: "c", operand: command, takes: "p", long: "--package"},
	"pandoc":      {code: "F", codes: "--filter", loads: "-L --lua-filter"},
	"rpm":         {code: "E", codes: "--eval --define"},
	"apt apt-get": {code: "oc"},
	"fd":          {code: "xX", codes: "--exec --exec-batch"},
	"hg":          {codes: "--config"},

	"go-test go-build go-vet": {codes: "-exec -toolexec -vettool"},
	"go":                      {},
	"tcpdump":                 {code: "z", takes: "ciwrsCGW"},
	"svn rclone restic borg yt-dlp diff3 sdiff fzf bat ag": {codes: "--config-option --diff-cmd --editor-cmd " +
		"--password-command --rsh --exec --diff-program --preview --pager"},
	"wget": {code: "e", codes: "--execute --use-askpass", loads: "--config",
		paths: "-O --output-document -P --directory-prefix -i --input-file --post-file --body-file"},
	"curl": {code: "K", codes: "--config", paths: "-o --output --output-dir -T --upload-file -c --cookie-jar"},

	"cat tac rev zcat bzcat xzcat gzip gunzip bzip2 bunzip2 xz unxz cksum rm tee less more": fileReader("", ""),
	"md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cmp comm readlink":        fileReader("", ""),
	"rmdir cd pushd":    fileReader("", ""),
	"realpath":          fileReader("", "--relative-to --relative-base"),
	"wc":                fileReader("", "--files0-from"),
	"touch":             {takes: "dt", long: "--date", paths: "-r --reference", operand: file},
	"truncate":          {takes: "s", long: "--size", paths: "-r --reference", operand: file},
	"mkdir":             {takes: "m", long: "--mode", operand: file},
	"chmod chown chgrp": {paths: "--reference", operand: file, skip: 1},
	"ls":                {takes: "IwT", long: "--hide --ignore --sort --time --time-style --format", operand: file},
	"du":                {takes: "dBt", long: "--max-depth --exclude", paths: "--files0-from", operand: file},
	"tree":              fileReader("LPIHT", "-o"),
	"file":              fileReader("FP", "-f -m"),
	"split":             {codes: "--filter", takes: "abClnt", operand: file},
	"sort": {codes: "--compress-program", takes: "kSt", long: "--key --field-separator --buffer-size --parallel",
		paths: "-o --output -T --temporary-directory --files0-from", operand: file},
	"head tail":      {takes: "ncs", long: "--lines --bytes --sleep-interval --pid", operand: file},
	"cp mv ln":       fileReader("S", "-t --target-directory"),
	"install":        fileReader("Smog", "-t --target-directory"),
	"zip":            {takes: "bnitPx", codes: "-TT --unzip-command", operand: file},
	"unzip":          {takes: "xP", paths: "-d", operand: file},
	"dd":             fileReader("", ""),
	"base64 base32":  fileReader("w", ""),
	"cut paste":      fileReader("bcdf", ""),
	"nl":             fileReader("bdfhilnsvw", ""),
	"od xxd hexdump": fileReader("AjNtwSlscgoefn", ""),
	"strings":        fileReader("netT", ""),
	"stat":           fileReader("c", ""),
	"diff":           fileReader("UCILFW", ""),
	"grep egrep fgrep rg": {codes: "--pre", takes: "ABCmedDgtT",
		long: "--max-count --context --after-context --before-context " +
			"--include --exclude --regexp --glob --iglob --type --max-depth", paths: "-f --file --exclude-from",
		operand: file, skip: 1},

	"eval": {operand: codeRest,
		hint: `There is no safe way to build code from a value; write the command out.`},
	"trap":             {operand: codeFirst},
	". source":         {operand: fileFirst, stdin: true},
	"jobs bind":        {operand: codeRest, code: "x"},
	"compgen complete": {operand: codeRest, code: "WCFG"},
	"enable":           {operand: codeRest, code: "f"},
	"hash":             {operand: codeRest, code: "p"},
	"fc":               {operand: codeRest, code: "e"},
})

// expandNames gives each name in a key of the table its own entry.
func expandNames(table map[string]commandSpec) map[string]commandSpec {
	out := map[string]commandSpec{}
	for names, spec := range table {
		for name := range strings.FieldsSeq(names) {
			out[name] = spec
		}
	}
	return out
}

// commandRunners run the command line that follows their own words.
var commandRunners = template.WordSet(`docker podman kubectl oc nerdctl lxc flatpak vagrant ssh nix-shell
	docker-compose crictl machinectl toolbox distrobox conda poetry pipenv uv bundle`)

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

// readers are programs that write nothing but their output, and builtin commands of the shell.
var readers = template.WordSet(`echo printf test [ : true false read mapfile readarray cd pwd exit return set shift unset
	export readonly local declare typeset getopts wait kill umask ulimit type times let date sleep expr seq basename
	dirname which id whoami hostname uname ps pgrep pkill df free uptime env printenv tr uniq column join fold fmt expand
	shuf iconv numfmt factor nproc logger mktemp`)
