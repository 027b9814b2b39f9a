package git

import (
	"strings"
	"testing"
)

func TestLocationHasRepositoryFolderAndRef(t *testing.T) {
	for text, want := range map[string]Location{
		"git+https://git.example/tools.git//prod?ref=main":        {URL: "https://git.example/tools.git", Folder: "prod", Ref: "main"},
		"git+file:///home/ann/my%20tools//prod?ref=main":          {URL: "file:///home/ann/my%20tools", Folder: "prod", Ref: "main"},
		"git+https://git.example/tools.git":                       {URL: "https://git.example/tools.git", Folder: ".", Ref: "HEAD"},
		"git+https://git.example:8443/a/b//c/d/?ref=v1.2/x_y-z":   {URL: "https://git.example:8443/a/b", Folder: "c/d", Ref: "v1.2/x_y-z"},
		"git+ssh://git@git.example/tools.git//prod?ref=release/1": {URL: "ssh://git@git.example/tools.git", Folder: "prod", Ref: "release/1"},
	} {
		want.text = text
		if got, err := ParseLocation(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
}

func TestLocationsThatGitCouldMisuseAreRefused(t *testing.T) {
	for text, reason := range map[string]string{
		"git+ext::sh -c touch% x":          "transport",
		"git+ext://sh/-c":                  "transport",
		"git+file://host/etc":              "no absolute path",
		"git+file:etc":                     "no absolute path",
		"git+file://ann@/etc":              "no absolute path",
		"git+file:///":                     "names no repository",
		"git+http://git.example/x":         "transport",
		"git+http://git.example/tools.git": "transport",
		"git+git://git.example/tools.git":  "transport",
		"git+/srv/tools.git":               "transport",
		"git+https://git.example/tools.git?ref=--upload-pack=touch":  "must not begin with -",
		"git+https://git.example/tools.git?ref=-x":                   "must not begin with -",
		"git+https://git.example/tools.git?ref=a:b":                  "may only have the characters",
		"git+https://git.example/tools.git?ref=":                     "may only have the characters",
		"git+https://git.example/tools.git?ref=a%0Ab":                "may only have the characters",
		"git+https://git.example/tools.git?ref=a&ref=b":              "only have one ref",
		"git+https://git.example/tools.git?token=s3cret":             "only have one ref",
		"git+https://git.example/tools.git#main":                     "fragment",
		"git+https://git.example/tools.git//../prod":                 "not the path of a folder",
		"git+https://git.example/tools.git//a/../../prod":            "not the path of a folder",
		"git+https://git.example/a%0D%0Ahost=evil.example/tools.git": "cannot be printed",
		"git+https://git.example/tools.git//pr%0Aod":                 "cannot be printed",
		"git+https://git.example/a\r\nb":                             "not a valid URL",
		"git+ssh://-oProxyCommand=touch/tools.git":                   "begins with -",
		"git+ssh://-oProxyCommand=touch@git.example/tools.git":       "begins with -",
		"git+https://münchen.example/tools.git":                      "as xn--",
		"git+https:///tools.git":                                     "no host",
		"git+https://git.example//prod":                              "names no repository",
		"git+https://git.example":                                    "names no repository",
		"git+https://ann:s3cret@git.example/tools.git":               "credential helper",
		"git+ssh://git:s3cret@git.example/tools.git":                 "SSH key",
		"git+ssh://git%3As3cret@git.example/tools.git":               "SSH key",
		"git+https://s3cret@git.example/tools.git":                   "credential helper",
		"git+https://ann:s3cret%zz@git.example/tools.git":            "not a valid URL",
	} {
		_, err := ParseLocation(text)
		if err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: the error has the password: %v", text, err)
		}
	}
}
