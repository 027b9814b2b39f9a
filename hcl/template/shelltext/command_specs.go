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

// commandSpecs are the common programs that run code from their words or input, or that take names of files. Of
// programs that are neither here nor in readers or dataPrograms nothing is known, see unknownProgram: a longer table
// would never be complete.
var commandSpecs = sync.OnceValue(func() map[string]commandSpec {
	return expandNames(map[string]commandSpec{
		"sh bash dash ash ksh zsh fish csh tcsh rbash": {takes: "oO",
			loads: "--rcfile --init-file", operand: fileFirst,
			shell: true, stdin: true, hint: hintShell},

		"python": withFiles(interpreter("c", "WX", "sys.argv[1]", "", ""), "-m"),
		"perl":   opening(interpreter("eE", "", "$ARGV[0]", "", "-I -M -m"), "np"),
		"ruby":   interpreter("e", "EK", "ARGV[0]", "", "-I -r"),
		"node nodejs": interpreter("ep", "C", "process.argv[1]", "--eval --print -pe",
			"-r --require --import --loader --experimental-loader"),
		"php":             interpreter("rBRE", "", "$argv[1]", "--run", "-d -c -z"),
		"lua":             interpreter("e", "", "arg[1]", "", "-l"),
		"Rscript":         interpreter("e", "", "commandArgs(TRUE)[1]", "", ""),
		"pwsh powershell": interpreter("c", "", "$args[0]", "-Command -command -EncodedCommand", ""),
		"deno":            {codes: "--eval", operand: codeRest, stdin: true},
		"deno-run go-run": {operand: fileFirst, stdin: true},
		"R":               {code: "eg", files: "-f --file", operand: fileFirst, stdin: true},
		"java": {takes: "p", files: "-jar", loads: "-cp -classpath --class-path", long: "--source",
			operand: fileFirst, stdin: true},
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

		"ex vi vim nvim": {code: "c", codes: "--cmd", loads: "-S -u -s", operand: file, plus: true,
			always: true},
		"gdb": {codes: "-ex -iex --eval-command", loads: "-x --command", always: true},
		"at":  {files: "-f", takes: "qt", stdin: true},

		"psql": {code: "c", codes: "--command", files: "-f --file", takes: "dhopPRTUvFL", stdin: true,
			hint: hintSQL},
		"mysql mariadb": {code: "e", codes: "--execute", adds: "--init-command", takes: "uhPDS", stdin: true,
			hint: hintSQL},
		"sqlite3": {adds: "-cmd", loads: "-init", long: "-separator -newline -nullvalue -mmap -vfs",
			operand: codeRest, skip: 1,
			stdin: true, hint: hintSQL},

		"mongosh mongo": {codes: "--eval", stdin: true},
		"duckdb": {code: "cs", adds: "-cmd", loads: "-init", operand: codeRest, skip: 1, stdin: true,
			hint: hintSQL},
		"sqlcmd":                             {code: "qQ", stdin: true, hint: hintSQL},
		"clickhouse-client clickhouse-local": {code: "q", codes: "--query", stdin: true, hint: hintSQL},
		"cqlsh trino sqlplus":                {code: "e", codes: "--execute", stdin: true, hint: hintSQL},

		"env": {code: "S", codes: "--split-string", takes: "u", long: "--unset", paths: "-C --chdir",
			operand: command, runsShell: true},
		"runuser": {code: "c", codes: "--command", takes: "ugG", operand: command, stdin: true,
			runsShell: true},
		"flock": {code: "c", codes: "--command", takes: "wE", operand: command, skip: 1,
			runsShell: true},

		"sudo":    shellWrapper("ugpCrtThDR", 0, "--user --group --prompt --chdir --host"),
		"doas":    shellWrapper("uC", 0, ""),
		"unshare": shellWrapper("SGw", 0, ""),
		"nsenter": shellWrapper("tSG", 0, "--target"),
		"chroot":  shellWrapper("", 1, ""),
		"pkexec":  shellWrapper("", 0, "--user"),

		"setpriv": wrapper("", 0, "--reuid --regid --ruid --euid --rgid --egid --groups --inh-caps --ambient-caps "+
			"--bounding-set --securebits --pdeathsig --selinux-label --apparmor-profile"),
		"nice":                                 wrapper("n", 0, "--adjustment"),
		"nohup setsid busybox command builtin": wrapper("", 0, ""),
		"sshpass prlimit dumb-init tini":       wrapper("nNmpfds", 0, ""),
		"gosu su-exec":                         wrapper("g", 1, ""),

		"timeout":     wrapper("ks", 1, "--kill-after --signal"),
		"stdbuf":      wrapper("ioe", 0, ""),
		"ionice":      wrapper("cnp", 0, ""),
		"chrt":        wrapper("TPD", 1, ""),
		"taskset":     wrapper("", 1, ""),
		"time":        wrapper("fo", 0, ""),
		"exec":        wrapper("a", 0, ""),
		"strace":      {code: "o", codes: "--output", takes: "epsu", operand: command},
		"systemd-run": wrapper("puMH", 0, "--unit --property --uid --gid"),
		"xargs": wrapper("IiLlnPsdEea", 0,
			"--replace --max-lines --max-args --max-procs --delimiter --arg-file"),

		"docker podman docker-compose": {takes: "Hclfp",
			long: "--host --context --config --file --log-level"},
		"kubectl oc": {takes: "ns",
			long: "--namespace --context --kubeconfig --cluster --user --server"},

		"docker-exec podman-exec docker-compose-exec": {takes: "euw", skip: 1,
			long: "--env --env-file --user --workdir --index", operand: command, remote: true},
		"docker-run podman-run docker-compose-run": {codes: "--entrypoint", takes: "aceghlmpuvw", skip: 1,
			long: "--name --volume --mount --env --env-file --user --workdir --network --net --publish --memory " +
				"--cpus --label --hostname --platform --pull --cap-add --cap-drop --tmpfs --ulimit " +
				"--gpus --device --add-host",
			operand: command, remote: true},
		"kubectl-exec oc-exec": {takes: "cn", long: "--container --namespace --context", operand: command, skip: 1,
			remote: true},

		"su":       {code: "c", codes: "--command", takes: "gGw", loads: "-s --shell", stdin: true, runsShell: true},
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
		"make gmake": {codes: "--eval -E", files: "-f --file --makefile", loads: "-C --directory -I --include-dir",
			operand: assignment,
			hint:    `Give the value in the environment of make and read it in the recipe with "$$X".`},

		"nc":          {code: "ec"},
		"ncat":        {code: "ec", codes: "--exec --sh-exec --lua-exec"},
		"socat alias": {operand: codeRest},

		"ansible": {code: "ae", codes: "--args --extra-vars", loads: "-M --module-path --playbook-dir",
			files: "-i --inventory",
			takes: "mulftTcCB", operand: data},
		"ansible-playbook": {code: "e", codes: "--extra-vars", loads: "-M --module-path",
			files: "-i --inventory", takes: "ultfc",
			long: "--limit --tags --skip-tags --user --forks --connection --start-at-task", operand: file},
		"salt salt-call salt-ssh salt-run": {operand: codeRest, takes: "tblcC"},
		"tmux screen":                      {operand: codeRest, code: "cXS", takes: "SLfp", always: true},
		"ip-netns-exec":                    wrapper("", 1, ""),
		"ip ip-netns":                      {takes: "bn"},
		"az-vm-run-command-invoke":         {codes: "--scripts --parameters"},
		"az az-vm az-vm-run-command":       {},
		"aws-ssm-send-command":             {codes: "--parameters --cli-input-json"},
		"aws aws-ssm":                      {},
		"gcloud-compute-ssh": {codes: "--command --ssh-flag", skip: 1, operand: codeRest, stdin: true,
			remote: true},
		"gcloud gcloud-compute": {},
		"redis-cli valkey-cli":  {takes: "hpnaus", codes: "--eval", operand: redis, stdin: true},
		"npm-install npm-i npm-exec npm-x npm-add pip-install pip3-install apt-install apt-get-install": {
			operand: codeRest, hint: hintPackage},
		"yum-install dnf-install apk-add go-install go-get": {operand: codeRest, hint: hintPackage},
		"npm-run npm-start npm-test":                        {operand: fileFirst},
		"npm pip pip3 yum dnf apk":                          {},

		"nmap": {codes: "--script --script-args", loads: "--datadir", paths: "-iL -oN -oX -oG -oA"},
		"openssl": {loads: "-engine -provider -provider-path -config",
			paths: "-in -out -inkey -key -cert -CAfile"},
		"ffmpeg ffprobe": {takes: "", loads: "-init_hw_device -filter_complex_script", paths: "-i",
			long: "-vf -af -c -metadata -ss -t -to -filter_complex"},
		"magick convert identify": fileReader("", ""),
		"iptables ip6tables":      {codes: "--modprobe"},
		"helm": {codes: "--post-renderer --post-renderer-args", loads: "--kubeconfig --registry-config",
			long: "--set --set-string --namespace --version"},
		"terraform tofu": {codes: "-chdir"},

		"npx":         {code: "c", operand: command, takes: "p", long: "--package"},
		"pandoc":      {code: "F", codes: "--filter", loads: "-L --lua-filter"},
		"rpm":         {code: "E", codes: "--eval --define"},
		"apt apt-get": {code: "oc"},
		"fd":          {code: "xX", codes: "--exec --exec-batch"},

		"git-fetch git-pull git-remote-add git-submodule-add": {codes: "--upload-pack -c", takes: "o",
			operand: remoteURL},
		"git-remote": {},

		"go-test go-build go-vet": {codes: "-exec -toolexec -vettool"},
		"go":                      {},
		"tcpdump":                 {code: "z", takes: "ciwrsCGW"},
		"diff3":                   {codes: "--diff-program"},
		"svn rclone restic":       {codes: "--config-option --diff-cmd --editor-cmd --password-command"},
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
var commandRunners = template.WordSet("docker podman docker-compose kubectl oc ssh")

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

// dataPrograms are programs that take their words and their input for data, besides readers.
var dataPrograms = template.WordSet(`
	yes cal groups who w last arch findmnt lsblk blkid lsof fuser killall pidof top vmstat iostat mpstat sar ss
	netstat ifconfig route arp ping ping6 traceroute mtr dig host nslookup whois getent hostnamectl resolvectl
	timedatectl loginctl systemctl journalctl dmesg lscpu lspci lsusb lsmod nvidia-smi whereis sync stty tput clear
	pr tsort xmllint uuidgen ssh-keyscan ldapsearch snmpget snmpwalk smartctl lvs vgs pvs ufw firewall-cmd vault gh
	pg_dump pg_dumpall pg_restore pg_isready createdb dropdb createuser dropuser vacuumdb reindexdb mysqldump
	mysqladmin mongodump mongorestore apt-cache dpkg-query zstd unzstd lz4 brotli pdftotext pdfinfo
	break continue unalias popd dirs disown fg bg`)
