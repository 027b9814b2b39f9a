package mcp

import (
	"errors"
	"strings"
	"testing"

	"hatchel/adapters/sandbox"
	"hatchel/hcl"
)

func TestCommandsThatDownloadAreRefused(t *testing.T) {
	for command, want := range map[string]string{
		"npx -y @modelcontextprotocol/server-everything@2026.8.31": `command = ["node", ` +
			`".mcp/npm/node_modules/@modelcontextprotocol/server-everything/dist/index.js"]`,
		"/usr/bin/npx server":                              "node_modules/server/",
		"env DEBUG=1 npx server":                           "node_modules/server/",
		"npx.cmd server":                                   "node_modules/server/",
		"npm exec -- server":                               `"npm exec" downloads`,
		"pnpm dlx server":                                  `"pnpm dlx" downloads`,
		"yarn dlx server":                                  `"yarn dlx" downloads`,
		"bunx server":                                      `"bunx" downloads`,
		"uvx --python 3.12 mcp-server-git==1.2":            `command = [".mcp/py/mcp-server-git/bin/mcp-server-git"]`,
		"uv tool run mcp-server-git@latest":                ".mcp/py/mcp-server-git/bin",
		"pipx run mcp-server-git":                          ".mcp/py/mcp-server-git/bin",
		"deno run -A npm:@scope/server":                    `"npm:@scope/server" is downloaded at each start`,
		"deno run https://example.com/server.ts":           "is downloaded at each start",
		"env -i -u A B=1 npx server":                       "node_modules/server/",
		"nice -n 5 timeout -k 5 60 npx -y server":          "node_modules/server/",
		"/usr/bin/setsid nohup bunx server":                "node_modules/server/",
		"npm --yes exec server":                            `"npm exec" downloads`,
		"npm --prefix dir exec server":                     `"npm exec" downloads`,
		"uv --quiet tool run mcp-server-git":               `"uv tool run" downloads`,
		"uv run --with mcp[cli] mcp run server.py":         ".mcp/py/mcp",
		"python3.12 -m pip install mcp-server-git":         `"python -m pip install" downloads`,
		"python3 -m pipx run mcp-server-git":               `"python -m pipx run" downloads`,
		"pip3 install mcp-server-git":                      ".mcp/py/mcp-server-git/bin",
		"deno -q run npm:server":                           "is downloaded at each start",
		"npm run start":                                    "",
		"node .mcp/npm/node_modules/server/dist/index.js":  "",
		"deno run server.ts":                               "",
		"uv run --offline --directory server python -m it": "",
		"bun server.ts":                                    "",
		"yarn start":                                       "",
	} {
		got := refuseDownload(strings.Fields(command))
		if (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q", command, got)
		}
	}
	for text, want := range map[string]bool{
		"npx -y server":                        true,
		"exec npx server":                      true,
		"cd server && A=1 exec 'npx' server":   true,
		"server || (uvx mcp-server-git)":       true,
		"X=$(npx server); node index.js":       true,
		"bash -lc 'timeout 5 npx server'":      true,
		"pip install x; python -m x":           true,
		"node index.js --note 'like npx does'": false,
		"exec node index.js npx":               false,
	} {
		for _, command := range [][]string{
			{"sh", "-c", text}, {"/bin/bash", "-euo", "pipefail", "-c", text}, {"env", "A=1", "sh", "-c", text}, {"env", "-S", text},
		} {
			if got := refuseDownload(command); (got != "") != want {
				t.Errorf("%q: %q", command, got)
			}
		}
	}
}

func TestContainersAreNamedByDigestAndNotPrivileged(t *testing.T) {
	digest := "mcp/git@sha256:" + strings.Repeat("0a", 32)
	free := sandbox.NewBlock()
	free.Mode = sandbox.ModeNone
	for command, c := range map[string]struct {
		box  *sandbox.Block
		want []string
	}{
		"docker run -i --rm " + digest:                     {free, nil},
		"docker --context x container run " + digest:       {free, nil},
		"podman run " + digest:                             {nil, []string{`sandbox { mode = "none" }`}},
		"docker run -i mcp/git":                            {free, []string{"by its digest"}},
		"docker run -i mcp/git@sha256:0a":                  {nil, []string{"by its digest", `mode = "none"`}},
		"docker run --privileged " + digest:                {free, []string{"--privileged gives the container"}},
		"docker run --privileged=true " + digest:           {free, []string{"--privileged gives the container"}},
		"/usr/bin/docker run --privileged=false " + digest: {free, nil},
		"docker exec server mcp":                           {nil, nil},
		"env A=1 docker run mcp/git":                       {free, []string{"by its digest"}},
		"sh -c exec docker run mcp/git":                    {nil, []string{"by its digest", `mode = "none"`}},
		"docker run -e A=" + digest + " mcp/git":           {free, []string{"by its digest"}},
		"docker run --label " + digest + " mcp/git":        {free, []string{"by its digest"}},
		"docker run mcp/git " + digest:                     {free, []string{"by its digest"}},
		"docker run -itv a:b -p80:80 --name=x " + digest:   {free, nil},
		"docker run -i --user 1 -e A " + digest + " --rw":  {free, nil},
		"docker create -i mcp/git":                         {free, []string{"by its digest"}},
	} {
		conn := &connection{Command: strings.Fields(command), Sandbox: c.box, Sessions: sessionsCaller}
		err := conn.Check()
		var joined interface{ Unwrap() []error }
		n := 0
		if errors.As(err, &joined) {
			n = len(joined.Unwrap())
		}
		if n != len(c.want) {
			t.Errorf("%s: %v", command, err)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v does not say %q", command, err, want)
			}
		}
	}
}

func TestTheFilesOfAProgramAreCompared(t *testing.T) {
	conn := &hcl.Connection{Config: &connection{
		Command: strings.Fields("node ./.mcp/npm/node_modules/x/index.js --flag"), Sandbox: sandbox.NewBlock(),
	}}
	code := new(block).Code(conn)
	if got, want := strings.Join(code.Installed, " "), "./.mcp/npm/node_modules/x/index.js .mcp/npm/package.json "+
		".mcp/npm/package-lock.json"; got != want {
		t.Errorf("%s, not %s", got, want)
	}
	conn.Config = &connection{Command: []string{".mcp/py/git/bin/mcp-server-git"}}
	if got, want := strings.Join(new(block).Code(conn).Installed, " "), ".mcp/py/git/bin/mcp-server-git .mcp/py/git.txt"; got != want {
		t.Errorf("%s, not %s", got, want)
	}
}
