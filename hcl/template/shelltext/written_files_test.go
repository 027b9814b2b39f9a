package shelltext

import (
	"strings"
	"testing"

	"hatchel/hcl/template/templatetest"
)

// fileWriting are commands that write the text VALUE to the file f.
var fileWriting = []string{
	"printf '%s\\n' VALUE > f", "cat <<< VALUE > f", "echo VALUE | tee f >/dev/null", "echo VALUE | tee f",
	"printf '%s' VALUE | dd of=f", "printf '%s' VALUE | sponge f", "exec 5>f; printf '%s\\n' VALUE >&5; exec 5>&-",
	"{ echo VALUE; } >| f", "echo VALUE | (cat > f)", "install -m755 /dev/stdin f <<< VALUE",
	"cp /dev/stdin f <<< VALUE", "sort -o f <<< VALUE", "jq -n --arg x VALUE '$x' -r > f",
	"awk -v x=VALUE 'BEGIN { print x > \"f\" }'", "sed -n 'w f' <<< VALUE",
	"mkdir -p d && printf '%s\\n' VALUE > d/f && mv d/f f", "printf '%s\\n' VALUE > g && ln -sf g f",
	"printf '%s\\n' VALUE > g && cp g f", "printf '%s\\n' VALUE > g && cat g > f", "printf '%s\\n' VALUE >> ./f",
	"echo VALUE | split -b 100k - f && mv faa f", "printf '%s\\n' VALUE | xargs -0 printf '%s\\n' > f",
	"echo VALUE | base64 | base64 -d > f", "tr a a <<< VALUE > f", "echo VALUE | gzip | zcat > f",
	"x=VALUE; echo \"$x\" > f", "x=f; echo VALUE > \"$x\"", "echo VALUE > $PWD/f",
}

// fileRunning are commands that run the file f.
var fileRunning = []string{
	"sh f", "bash ./f", ". ./f", "source f", "sh < f", "cat f | sh", "chmod +x f && ./f", "bash -c \"$(cat f)\"",
	"eval \"$(<f)\"", "xargs sh -c < f", "find . -name f -exec sh {} \\;", "env -i sh f", "bash $PWD/f", "x=f; sh $x",
	"sh -s < f", "sh ./d/../f", "BASH_ENV=f bash -c true", "ENV=$PWD/f sh -i -c true",
	"awk 'BEGIN { system(\"sh f\") }'", "make -f f", "timeout 2 sh f", "cp f k && sh k", "mv f k; sh k",
	"mapfile -t a < f; eval \"${a[0]}\"", "read -r l < f; eval \"$l\"", "source /dev/stdin < f", ". <(cat f)",
	"bash <(cat f)", "nohup sh f", "exec 6<f; sh <&6", "sh -c '. ./f'", "sh -c \"$(head -1 f)\"", "cd . && sh f",
	"while read -r l; do $l; done < f", "xargs -a f env", "sh \"$(echo f)\"", "sh f*", "sh ?", "command . ./f",
	"builtin source f", "stdbuf -o0 sh f",
}

// orders are scripts with a command W that writes and a command R that runs.
var orders = []string{
	"W\nR", "W && R", "W & wait; R", "(W); R", "g() { W; }; g; R", "W; (R)", "if W; then R; fi", "{ R; } < <(W)", "W | R",
	"R & W; wait; R", "for i in 1 2; do R; W; done", "x=$(W); R", "W; y=$(R); echo \"$y\"", "W | { cat >/dev/null; R; }",
	"coproc { W; }; wait; R", "while R; ! test -e done; do touch done; W; done", "h() { R; }; W; h", "go() { R; }; trap go EXIT; W",
}

func TestAFileWithTheTextOfACallerIsRunByNoScriptThatLoads(t *testing.T) {
	types := templatetest.Types(t, argvTypes)
	real, tried, refused := 0, 0, 0
	for i, write := range fileWriting {
		for k, run := range fileRunning {
			for _, order := range []string{orders[(i*7+k)%len(orders)], orders[(i*5+k*3+1)%len(orders)]} {
				text := "#!/bin/bash\n" + strings.NewReplacer("W", write, "R", run).Replace(order)
				s, diags := CompileScript(templatetest.Parse(t, types,
					strings.ReplaceAll(strings.ReplaceAll(text, "${", "$${"), "VALUE", "${input.s}")), Inputs{})
				if err := firstError(diags); err == "Shell syntax error" || err == "Not in this shell" {
					t.Errorf("%s: %q", err, text)
				}
				if s == nil {
					if refused++; refused%97 == 0 { // many of the refused scripts do run the value
						tried++
						if ran, _ := runBash(t, []string{"/bin/bash", "-c", strings.ReplaceAll(text, "VALUE", `"$V"`)},
							[]string{"V=" + descriptorPayload}); ran {
							real++
						}
					}
					continue
				}
				env, err := s.Env(frame{"s": descriptorPayload})
				if err != nil {
					t.Fatal(err)
				}
				if ran, out := runBash(t, s.Argv(), env); ran {
					t.Errorf("ran the value: %q: %s", text, out)
				}
			}
		}
	}
	if real*3 < tried {
		t.Errorf("only %d of %d scripts that were tried without the check run the value", real, tried)
	}
}
