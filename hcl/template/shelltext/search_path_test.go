package shelltext

import (
	"strings"
	"testing"

	"hatchel/hcl/template/templatetest"
)

// writingOfF are commands that write the text VALUE to the file f of the folder d, which can then be run.
var writingOfF = []string{
	"printf '%s\\n' VALUE > f; chmod +x f", "install -m755 /dev/stdin ./f <<< VALUE",
	"n=f; echo VALUE > \"$n\"; chmod 755 $n", "echo VALUE > g; chmod +x g; mv g f",
	"cp \"$(type -p true)\" f; printf '%s\\n' VALUE > \"$PWD/f\"",
}

// runningByName are commands that run the file f by its bare name.
var runningByName = []string{
	"PATH=$PWD; f", "PATH=.:$PATH; f", "export PATH=$PWD:$PATH; f", "PATH+=:.; f", "PATH=$PATH:; f", "PATH=. f",
	"PATH=.:$PATH f", "env PATH=. f", "env PATH=\"$PWD:$PATH\" nohup f", "declare -x PATH=.; f", "export PATH=\"$(pwd)\"; f",
	"x=$PWD; PATH=$x:$PATH; f", "x=.; PATH=/usr/bin:$x:/bin; timeout 2 f", "read -r PATH <<< .; f", "printf -v PATH .; f",
	"PATH=/usr/bin:/bin:$PWD; sh -c f", "PATH=/bin:$PWD; bash -c 'f'", "PATH=.:/bin; eval f", "PATH=.:$PATH; command f",
	"PATH=.:$PATH; exec f", "PATH=.:$PATH; exec -a x f", "go() { local PATH=.; f; }; go", "PATH=.:$PATH; x=f; $x",
	"PATH=.:$PATH; env f", "PATH=.:$PATH; find . -name f -exec f \\;", "PATH=.:$PATH; echo | xargs f", "PATH=.:$PATH; . f",
	"for PATH in .; do f; done", "PATH=.:$PATH; x=$(f)", "PATH=.:$PATH; true | f", "PATH=.:$PATH; (f)", "PATH=$OLDPWD.:$PATH; f",
	"cd . && PATH=$OLDPWD:$PATH f", "PATH=${X:-.}; f", "PATH=~+:$PATH; f", "mkdir -p bin; cp f bin/f; PATH=$PWD/bin:$PATH; f",
	"hash -p ./f ls; ls", "hash -p $PWD/f f; f", "hash -p \"$PWD/f\" ls; ls", "x=./f; hash -p $x ls; ls",
	"shopt -s expand_aliases; alias ls=./f\nls", "shopt -s expand_aliases; x=./f; alias ls=$x\nls",
	"shopt -s expand_aliases; alias ls='sh f'\nls", "sh() { command sh \"$@\"; }; sh f", "ls() { ./f; }; ls",
	"sh() { :; }; command sh f", "sh() { :; }; unset -f sh; sh f", "exec -a ls ./f", "exec -a ls sh f", "exec -c -a ls sh f",
	"command exec -a ls bash f", "builtin command . ./f", "builtin . ./f", "command -p sh f", "builtin exec sh f",
	"command env sh f", "command command sh ./f", ". () { builtin . \"$@\"; }; . ./f", "ls() { sh \"$1\"; }; ls f",
	"cat() { sh f; }; echo | cat", "PROMPT_COMMAND=./f; eval \"$PROMPT_COMMAND\"", "command_not_found_handle() { ./f; }; nope",
	"export -f sh 2>/dev/null; bash -c 'sh f'", "x=sh; sh() { $x f; }; sh", "PATH=.:$PATH; coproc f; wait",
	"BASH_ENV=./f bash -c :", "trap ./f EXIT", "trap 'PATH=.; f' EXIT", "export PATH=.; exec env f", "enable -f ./f x",
}

// codeInNames are scripts in which a function has the name of a program that runs code, and the program is run.
var codeInNames = []string{
	"sh() { :; }; command sh -c VALUE", "sh() { :; }; unset -f sh; sh -c VALUE", "(sh() { :; }); sh -c VALUE",
	"sh -c VALUE; sh() { :; }", "if false; then sh() { :; }; fi; sh -c VALUE", "sh() { :; }; bash -c 'sh -c \"$1\"' _ VALUE",
	"sh() { :; }; builtin command sh -c VALUE", "eval() { :; }; builtin eval VALUE", "eval() { :; }; command eval VALUE",
	"x() { sh() { :; }; }; sh -c VALUE", "sh() { :; }; x=-f; unset $x sh; sh -c VALUE", "exec -a ls sh -c VALUE",
	"exec -ca ls sh -c VALUE", "exec -l -a ls bash -c VALUE", "command exec -a ls sh -c VALUE", "sh() { :; }; exec sh -c VALUE",
	"sh() { :; }; env sh -c VALUE", "sh() { :; } & wait; sh -c VALUE", "echo | { sh() { :; }; }; sh -c VALUE",
}

func TestAFileOfACallerIsRunByNoNameOfAScriptThatLoads(t *testing.T) {
	var scripts []string
	for _, write := range writingOfF {
		for _, run := range runningByName {
			scripts = append(scripts, write+"\n"+run)
		}
	}
	types := templatetest.Types(t, argvTypes)
	real := 0
	for i, script := range append(scripts, codeInNames...) {
		text := "#!/bin/bash\n" + script
		s, diags := CompileScript(templatetest.Parse(t, types,
			strings.ReplaceAll(strings.ReplaceAll(text, "${", "$${"), "VALUE", "${input.s}")), Inputs{})
		if s != nil {
			t.Errorf("loads: %q", text)
		}
		if err := firstError(diags); err == "Shell syntax error" || err == "Not in this shell" {
			t.Errorf("%s: %q", err, text)
		}
		if i%7 == 0 || i >= len(scripts) {
			if ran, _ := runBash(t, []string{"/bin/bash", "-c", strings.ReplaceAll(text, "VALUE", `"$V"`)},
				[]string{"V=/usr/bin/" + descriptorPayload}); ran {
				real++
			}
		}
	}
	if tried := len(scripts)/7 + len(codeInNames); real*2 < tried {
		t.Errorf("only %d of %d scripts that were tried without the check run the value", real, tried)
	}
}

func TestScriptsThatOnlySetThePathLoad(t *testing.T) {
	types := templatetest.Types(t, argvTypes)
	for _, script := range []string{
		"PATH=/usr/local/bin:$PATH; printf '%s' VALUE > out.txt; sort out.txt", "export PATH=$PATH:/opt/x/bin; echo VALUE > f; wc -c f",
		"PATH=$HOME/bin:$PATH; echo VALUE > f.json; jq . f.json", "PATH=.:$PATH; printf '%s' VALUE | sort",
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/a:/opt/b:/opt/c; echo VALUE > f; sort f",
		"PATH=$PATH:/usr/local/bin; PATH=$PATH:/opt/bin; tar xf - <<< VALUE; ls", "PATH=$PWD/bin:$PATH; x=$(mktemp); echo VALUE > \"$x\"; sort \"$x\"",
		"git() { command git --no-pager \"$@\"; }; git log -- VALUE", "view() { printf '%s\\n' \"$1\"; }; view VALUE",
		"log() { printf '%s\\n' \"$*\" >&2; }; log VALUE", "hash -r; printf '%s' VALUE", "exec -a x printf '%s' VALUE", "alias l=ls; printf '%s' VALUE",
		"command -v jq >/dev/null; printf '%s' VALUE", "run() { printf '%s' VALUE; }; run", "ls() { command ls -l; }; ls -- VALUE",
	} {
		_, diags := CompileScript(templatetest.Parse(t, types,
			"#!/bin/bash\n"+strings.ReplaceAll(strings.ReplaceAll(script, "${", "$${"), "VALUE", "${input.s}")), Inputs{})
		if diags.HasErrors() {
			t.Errorf("%q: %s", script, templatetest.Render(diags))
		}
	}
}
