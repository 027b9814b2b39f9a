package main

import (
	"encoding/json"
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"hatchel/hcl/surface"
	"hatchel/runtime/durable/audit"
	"hatchel/runtime/durable/state"
)

// version is set at build time with -X main.version=v1.2.3.
var version string

func versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long: `Print the version, the platform, the Go version and the commit of the build. With
--json also print the versions of the stored formats: the schema of the state, the
records of the audit log, and the lock file.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !asJSON {
				fmt.Fprintln(cmd.OutOrStdout(), versionText())
				return nil
			}
			out := json.NewEncoder(cmd.OutOrStdout())
			out.SetIndent("", "  ")
			return out.Encode(struct {
				build
				Formats map[string]int `json:"formats"`
			}{readBuild(release()), map[string]int{
				"state_sqlite": state.SQLiteVersion, "state_postgres": state.PostgresVersion, "audit": audit.Format,
				"lock": surface.Version,
			}})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the version as JSON")
	return cmd
}

// versionText returns the version with the platform, the Go version and the commit of the build.
func versionText() string { return "hatchel " + readBuild(release()).String() }

// release returns the version that was set at build time, or the version of the module.
func release() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}
