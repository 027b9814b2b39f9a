// Command sbom prints an SPDX 2.3 document in JSON of what a release contains: the modules of programs of Go, which are
// one program for several systems, and the packages of Debian in an image.
//
//	sbom VERSION STATUS PROGRAM...
//
// STATUS is the file of that name of dpkg. The time is SOURCE_DATE_EPOCH.
package main

import (
	"bufio"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

type document struct {
	Version       string         `json:"spdxVersion"`
	License       string         `json:"dataLicense"`
	ID            string         `json:"SPDXID"`
	Name          string         `json:"name"`
	Namespace     string         `json:"documentNamespace"`
	Creation      creation       `json:"creationInfo"`
	Packages      []component    `json:"packages"`
	Relationships []relationship `json:"relationships"`
}

type creation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type component struct {
	ID       string      `json:"SPDXID"`
	Name     string      `json:"name"`
	Version  string      `json:"versionInfo,omitempty"`
	Location string      `json:"downloadLocation"`
	Analyzed bool        `json:"filesAnalyzed"`
	License  string      `json:"licenseConcluded"`
	Refs     []reference `json:"externalRefs,omitempty"`
}

type reference struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relationship struct {
	From string `json:"spdxElementId"`
	Type string `json:"relationshipType"`
	To   string `json:"relatedSpdxElement"`
}

const none = "NOASSERTION"

func main() {
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "usage: sbom VERSION STATUS PROGRAM...")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(version, status string, programs []string) error {
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	d := &document{
		Version: "SPDX-2.3", License: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: "hatchel-" + version,
		Namespace: fmt.Sprintf("https://spdx.org/spdxdocs/hatchel-%s-%d", version, seconds),
		Creation:  creation{time.Unix(seconds, 0).UTC().Format(time.RFC3339), []string{"Tool: hatchel-sbom"}},
	}
	hatchel := d.add(d.ID, "DESCRIBES", "hatchel", version, "")
	d.Packages[0].License = "Apache-2.0"
	if err := d.addModules(hatchel, programs); err != nil {
		return err
	}
	if err := d.addDebian(d.add(d.ID, "DESCRIBES", "hatchel-image-tools", version, ""), status); err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", " ")
	return out.Encode(d)
}

// add adds a package that another element is related to, and returns its identifier.
func (d *document) add(from, relation, name, version, purl string) (id string) {
	id = fmt.Sprintf("SPDXRef-Package-%d", len(d.Packages)+1)
	c := component{ID: id, Name: name, Version: version, Location: none, License: none}
	if purl != "" {
		c.Refs = []reference{{"PACKAGE-MANAGER", "purl", purl}}
	}
	d.Packages = append(d.Packages, c)
	d.Relationships = append(d.Relationships, relationship{from, relation, id})
	return id
}

// addModules adds the modules of all programs, each once: they are built from one go.mod.
func (d *document) addModules(hatchel string, programs []string) error {
	added := map[string]bool{}
	add := func(name, version, purl string) {
		if !added[name] {
			d.add(hatchel, "DEPENDS_ON", name, version, purl+"@"+strings.TrimPrefix(version, "go"))
		}
		added[name] = true
	}
	for _, program := range programs {
		info, err := buildinfo.ReadFile(program)
		if err != nil {
			return err
		}
		add("go", info.GoVersion, "pkg:golang/std")
		for _, m := range info.Deps {
			add(m.Path, m.Version, "pkg:golang/"+m.Path)
		}
	}
	return nil
}

func (d *document) addDebian(image, status string) error {
	f, err := os.Open(status)
	if err != nil {
		return err
	}
	defer f.Close()
	fields := map[string]string{}
	for lines := bufio.NewScanner(f); ; {
		more := lines.Scan()
		if name, value, ok := strings.Cut(lines.Text(), ": "); ok {
			fields[name] = value
		} else if lines.Text() == "" && fields["Package"] != "" {
			purl := fmt.Sprintf("pkg:deb/debian/%s@%s?arch=%s", fields["Package"],
				strings.ReplaceAll(fields["Version"], "+", "%2B"), fields["Architecture"])
			d.add(image, "CONTAINS", fields["Package"], fields["Version"], purl)
			clear(fields)
		}
		if !more {
			return lines.Err()
		}
	}
}
