package shelltext

import (
	"path"
	"strings"
	"sync"

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
	opens   string // letters of short options with which an operand may be a command, as perl -n opens files
	plus    bool   // an operand that begins with + is code
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
	remoteURL              // a URL such as ext::command, which git runs if it is told to
	redis                  // commands of Redis, of which some run code
)

const (
	hintShell = `Give the value to the code as an argument: "sh", "-c", "... \"$1\" ...", "sh", %s.`
	hintSQL   = `Use a sql block, which binds values.`
	hintAwk   = `Give the value in the environment and read it with ENVIRON["X"]: in a script, X=%s awk ` +
		`'... ENVIRON["X"] ...'.`
	hintJq      = `Give the value by name: "--arg", "x", %s, and read $x in the program.`
	hintRemote  = `The remote shell would parse it. Make the input an enum, or send the value on the standard input.`
	hintPackage = `The installation of a package runs its code. Make the input an enum of packages that you trust.`
	hintURL     = `A URL such as ext::command runs a program. Write its beginning as text: "https://host/%s".`
	hintFixed   = `Write this word as constant text.`
)

// interpreter specifies a program that reads a value given as an argument with the code inside.
func interpreter(code, takes, inside, codes, loads string) commandSpec {
	return commandSpec{code: code, takes: takes, codes: codes, loads: loads, operand: fileFirst, stdin: true,
		hint: `Give the value to the program as an argument after its code: %s is then ` + inside + ` inside.`}
}

// opening specifies that operands may be commands with some options.
func opening(s commandSpec, options string) commandSpec {
	s.opens = options
	return s
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
var commandSpecs = sync.OnceValue(func() map[string]commandSpec {
	return expandNames(map[string]commandSpec{
		"sh bash dash ash ksh mksh zsh fish csh tcsh rbash yash nu elvish xonsh": {takes: "oO",
			loads: "--rcfile --init-file", operand: fileFirst,
			shell: true, stdin: true, hint: hintShell},

		"python pypy": withFiles(interpreter("c", "WX", "sys.argv[1]", "", ""), "-m"),
		"perl":        opening(interpreter("eE", "", "$ARGV[0]", "", "-I -M -m"), "np"),
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
		"R octave octave-cli gnuplot maxima gp erl iex irb ipython ghci racket clojure clj swipl sbcl clisp ocaml " +
			"wish": {
			code: "eg", codes: "--eval -eval", files: "-f --file --script", loads: "-l --load", operand: fileFirst,
			stdin: true},
		"jshell groovysh": {operand: fileFirst, stdin: true},

		"emacs":   {codes: "--eval --execute -eval -f --funcall", loads: "-l --load --script"},
		"m4":      {adds: "-D --define", takes: "BFtI", operand: fileFirst, stdin: true},
		"crontab": {operand: fileFirst, takes: "u", stdin: true},
		"awk gawk mawk nawk": {code: "e", codes: "--source", files: "-f --file -E --exec",
			loads: "-i --include -l --load", takes: "vF", long: "--assign --field-separator",
			operand: codeFirst, rest: true, hint: hintAwk},
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

		"ex vi vim nvim view": {code: "c", codes: "--cmd", loads: "-S -u -s", operand: file, plus: true,
			always: true},
		"gdb":  {codes: "-ex -iex --eval-command", loads: "-x --command", always: true},
		"lldb": {codes: "-o -O --one-line", loads: "-s --source", always: true},
		"at":   {files: "-f", takes: "qt", stdin: true},

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
		"strace ltrace": {code: "o", codes: "--output", takes: "epsu", operand: command},
		"systemd-run":   wrapper("puMH", 0, "--unit --property --uid --gid"),
		"xargs": wrapper("IiLlnPsdEea", 0,
			"--replace --max-lines --max-args --max-procs --delimiter --arg-file"),

		"docker podman nerdctl docker-compose": {takes: "Hclfp",
			long: "--host --context --config --file --log-level"},
		"kubectl oc": {takes: "ns",
			long: "--namespace --context --kubeconfig --cluster --user --server"},

		"docker-exec podman-exec nerdctl-exec docker-compose-exec": {takes: "euw", skip: 1,
			long: "--env --env-file --user --workdir --index", operand: command, remote: true},
		"docker-run podman-run nerdctl-run docker-compose-run": {codes: "--entrypoint", takes: "aceghlmpuvw", skip: 1,
			long: "--name --volume --mount --env --env-file --user --workdir --network --net --publish --memory " +
				"--cpus --label --hostname --platform --pull --cap-add --cap-drop --tmpfs --ulimit --gpus --device " +
				"--add-host",
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
		"rsync":              {code: "eM", codes: "--rsh --rsync-path --remote-option"},
		"tar": {code: "IF", paths: "-f --file -C --directory -T --files-from -X --exclude-from",
			codes: "--to-command --checkpoint-action --use-compress-program --rsh-command --rmt-command " +
				"--info-script --new-volume-script"},
		"git": {code: "c", codes: "--config-env --exec-path --upload-pack --receive-pack",
			paths: "-C --git-dir --work-tree"},

		"git-clone": {code: "cu", codes: "--config --upload-pack", loads: "--template", takes: "bjo",
			long: "--branch --depth --origin --reference --filter", operand: remoteURL},
		"git-push git-ls-remote git-fetch-pack git-archive": {codes: "--exec --receive-pack --upload-pack", takes: "o",
			operand: remoteURL},
		"git-bisect git-submodule": {},
		"git-bisect-run":           wrapper("", 0, ""),
		"git-submodule-foreach":    {operand: codeRest},
		"git-filter-branch": {codes: "--setup --env-filter --tree-filter --index-filter --parent-filter --msg-filter " +
			"--commit-filter --tag-name-filter"},
		"git-grep":     {code: "O", codes: "--open-files-in-pager", takes: "ABCefm"},
		"git-rebase":   {code: "x", codes: "--exec"},
		"git-difftool": {code: "x", codes: "--extcmd"},
		"make gmake bmake": {codes: "--eval -E", files: "-f --file --makefile",
			loads:   "-C --directory -I --include-dir",
			operand: assignment,
			hint:    `Give the value in the environment of make and read it in the recipe with "$$X".`},

		"nc":          {code: "ec"},
		"ncat":        {code: "ec", codes: "--exec --sh-exec --lua-exec"},
		"socat alias": {operand: codeRest},

		"ansible": {code: "ae", codes: "--args --extra-vars", loads: "-M --module-path --playbook-dir",
			files: "-i --inventory",
			takes: "mulftTcCB", operand: data},
		"ansible-playbook ansible-console": {code: "e", codes: "--extra-vars", loads: "-M --module-path",
			files: "-i --inventory", takes: "ultfc",
			long: "--limit --tags --skip-tags --user --forks --connection --start-at-task", operand: file},
		"salt salt-call salt-ssh salt-run": {operand: codeRest, takes: "tblcC"},
		"tmux screen zellij dtach abduco":  {operand: codeRest, code: "cXS", takes: "SLfp", always: true},
		"pdsh clush pssh parallel-ssh dsh": {operand: codeRest, takes: "wxlgfhuHtopO", stdin: true, remote: true,
			hint: hintRemote},
		"mosh": {operand: codeRest, code: "", codes: "--ssh --server", skip: 1, remote: true,
			hint: hintRemote},
		"machinectl-shell":            {operand: codeRest, skip: 1, stdin: true, remote: true},
		"machinectl":                  {},
		"ip-netns-exec":               wrapper("", 1, ""),
		"ip ip-netns":                 {takes: "bn"},
		"pkexec run-parts":            shellWrapper("", 0, "--user"),
		"start-stop-daemon":           {codes: "--startas --exec", code: "xa", operand: command},
		"systemd-nspawn":              {codes: "", takes: "DMuiL", operand: command, remote: true},
		"multipass-exec incus-exec":   {takes: "", operand: command, skip: 1, remote: true},
		"multipass incus":             {},
		"nomad-exec nomad-alloc-exec": {operand: command, skip: 1, remote: true},
		"nomad nomad-alloc":           {},
		"az-vm-run-command-invoke":    {codes: "--scripts --parameters"},
		"az az-vm az-vm-run-command":  {},
		"aws-ssm-send-command":        {codes: "--parameters --cli-input-json"},
		"aws aws-ssm":                 {},
		"gcloud-compute-ssh": {codes: "--command --ssh-flag", skip: 1, operand: codeRest, stdin: true,
			remote: true},
		"gcloud gcloud-compute":              {},
		"fly-ssh-console flyctl-ssh-console": {code: "C", codes: "--command", stdin: true, remote: true},
		"fly flyctl fly-ssh flyctl-ssh":      {},
		"heroku-run railway-run":             {operand: command, remote: true},
		"heroku railway":                     {},
		"consul-exec serf-exec":              {operand: codeRest},
		"consul":                             {},
		"redis-cli valkey-cli":               {takes: "hpnaus", codes: "--eval", operand: redis, stdin: true},
		"npm-install npm-i npm-exec npm-x npm-add yarn-add yarn-dlx pnpm-add pnpm-dlx pnpm-exec": {operand: codeRest,
			hint: hintPackage},
		"pip-install pip3-install pipx-install pipx-run uvx gem-install cargo-install go-install": {operand: codeRest,
			hint: hintPackage},
		"go-get brew-install apt-install apt-get-install": {operand: codeRest, hint: hintPackage},
		"apk-add yum-install dnf-install snap-install luarocks-install cpan cpanm": {operand: codeRest,
			hint: hintPackage},
		"npm-run npm-start npm-test yarn-run pnpm-run":                         {operand: fileFirst},
		"npm yarn pnpm pip pip3 pipx gem cargo brew apk yum dnf snap luarocks": {},
		"gs ghostscript": {code: "c", adds: "-sOutputFile -o", operand: fileFirst, stdin: true},
		"tex latex pdftex pdflatex xelatex lualatex luatex": {operand: fileFirst, stdin: true, takes: "",
			long: "-output-directory"},
		"nmap": {codes: "--script --script-args", loads: "--datadir", paths: "-iL -oN -oX -oG -oA"},
		"openssl": {loads: "-engine -provider -provider-path -config",
			paths: "-in -out -inkey -key -cert -CAfile"},
		"ffmpeg ffplay ffprobe": {takes: "", loads: "-init_hw_device -filter_complex_script", paths: "-i",
			long: "-vf -af -c -metadata -ss -t -to -filter_complex"},
		"magick convert identify mogrify composite montage": fileReader("", ""),
		"aria2c": {codes: "--on-download-start --on-download-complete --on-download-error", loads: "--conf-path",
			paths: "-d --dir -o --out -i --input-file"},
		"mutt neomutt":       {code: "eF"},
		"logrotate":          {operand: fileFirst},
		"iptables ip6tables": {codes: "--modprobe"},
		"helm": {codes: "--post-renderer --post-renderer-args", loads: "--kubeconfig --registry-config",
			long: "--set --set-string --namespace --version"},
		"terraform tofu": {codes: "-chdir"},
		"mpv vlc":        {codes: "--script --input-ipc-server", loads: "--config-dir"},
		"xdg-open open":  {operand: codeRest},

		"ninja just":  {files: "-f --justfile", takes: "Cjkl"},
		"cmake":       {loads: "-P -C"},
		"man":         {code: "PH", codes: "--pager"},
		"npx":         {code: "c", operand: command, takes: "p", long: "--package"},
		"pandoc":      {code: "F", codes: "--filter", loads: "-L --lua-filter"},
		"rpm":         {code: "E", codes: "--eval --define"},
		"apt apt-get": {code: "oc"},
		"fd":          {code: "xX", codes: "--exec --exec-batch"},
		"hg":          {codes: "--config"},

		"git-fetch git-pull git-remote-add git-submodule-add": {codes: "--upload-pack -c", takes: "o",
			operand: remoteURL},
		"git-remote": {},

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
		"dpkg":              {codes: "--pre-invoke --post-invoke --status-logger"},
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
		"enable":           {operand: codeRest, loads: "-f"},
		"hash":             {operand: codeRest, loads: "-p"},
		"fc":               {operand: codeRest, code: "e"},
	})
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
	if p, ok := commandSpecs()[name]; ok {
		return name, p, true
	}
	short := strings.TrimRight(name, "0123456789.-")
	p, ok := commandSpecs()[short]
	return name, p, ok && short != ""
}

// readers are programs that write nothing but their output, and builtin commands of the shell.
var readers = template.WordSet(`
	echo printf test [ : true false read mapfile readarray cd pwd exit return set shift unset export readonly
	local declare typeset getopts wait kill umask ulimit type times let date sleep expr seq basename dirname
	which id whoami hostname uname ps pgrep pkill df free uptime env printenv tr uniq column join fold fmt
	expand shuf iconv numfmt factor nproc logger mktemp`)

// dataPrograms are programs that take their words and their input for data.
var dataPrograms = template.WordSet(`
	true false yes date cal sleep seq shuf factor numfmt expr id groups who whoami w last lastlog hostname
	hostnamectl uname arch nproc uptime free df mount findmnt lsblk blkid lsof fuser ps pgrep pkill kill
	killall pidof top htop vmstat iostat mpstat sar ss netstat ip ifconfig route arp ping ping6 traceroute
	tracepath mtr dig host nslookup whois getent resolvectl timedatectl localectl loginctl systemctl
	journalctl service dmesg lscpu lspci lsusb sysctl ulimit nvidia-smi sensors echo printf basename dirname
	which whereis mktemp sync stty tput clear logger wall write mail mailx sendmail msmtp tr uniq fold fmt
	column join expand unexpand pr iconv recode dos2unix unix2dos numfmt tsort csvcut csvgrep csvlook csvstat
	csvsort csvjson xsv mlr xmllint xmlstarlet tidy pup htmlq tomlq dasel gron fx jo jc hexdump uuencode
	uudecode qrencode figlet toilet cowsay aspell hunspell pdftotext pdfinfo pdfgrep exiftool mediainfo sox
	tesseract gpg gpg2 age sops ssh-keygen ssh-keyscan htpasswd pwgen uuidgen certbot step mkcert base58 b3sum
	ssh-add klist kinit kdestroy ldapsearch ldapmodify ldapadd ldapdelete samba-tool net rpcclient terraform
	tofu packer vault boundary consul nomad helm helmfile kustomize kubectx kubens k9s stern argocd flux
	istioctl linkerd velero kubeseal minikube kind k3d skaffold tilt eksctl kops aws aws-vault gcloud gsutil
	bq az doctl hcloud linode linode-cli oci ibmcloud scw fly flyctl heroku vercel netlify wrangler supabase
	firebase gh glab hub jira slack sentry-cli pagerduty pd opsgenie datadog-ci newrelic circleci travis
	jenkins-cli buildkite-agent act cosign syft grype trivy hadolint checkov tfsec tflint infracost mc s3cmd
	s5cmd rados ceph zfs zpool lvs vgs pvs btrfs mdadm smartctl pg_dump pg_dumpall pg_restore pg_isready
	createdb dropdb createuser dropuser vacuumdb reindexdb mysqldump mysqladmin mariadb-dump mariadb-admin
	mongodump mongorestore mongoexport mongoimport redis-benchmark etcdctl zkCli kafka-topics
	kafka-console-consumer kcat rabbitmqctl rabbitmqadmin nats mosquitto_pub mosquitto_sub rpk pulsar-admin
	influxd promtool amtool logcli tempo-cli grafana-cli curlie http https xh httpie ab wrk hey k6 vegeta
	siege grpcurl websocat dpkg-query rpm2cpio pacman apt-cache apt-file debsums snapper nixos-version
	flatpak composer mvn gradle dotnet rustc gcc clang ld strip objdump nm readelf ldd 7z 7za rar unrar
	zipinfo lz4 zstd unzstd brotli xzgrep zgrep zless zmore bzgrep hugo jekyll mkdocs mdbook asciidoctor dot
	neato plantuml mmdc prettier black ruff eslint gofmt shfmt shellcheck yamllint jsonlint ajv spectral
	protoc buf thrift flatc gdalinfo ogr2ogr ogrinfo proj wg wg-quick nmcli iw iwconfig ethtool tc nft ufw
	firewall-cmd fail2ban-client conntrack crictl ctr skopeo buildah regctl crane oras virsh qemu-img
	VBoxManage vmrun govc ipmitool snmpget snmpwalk smbstatus showmount exportfs lpstat lp lpr cupsctl uptimed
	chronyc ntpq ntpdate hwclock acpi upower dbus-send busctl udevadm modinfo lsmod say espeak notify-send
	wmctrl xclip xsel pbcopy pbpaste test [ : read mapfile readarray cd pwd exit return set shift unset export
	readonly local declare typeset getopts wait umask type times let command hash printenv break continue
	local alias unalias popd dirs disown fg bg`)
