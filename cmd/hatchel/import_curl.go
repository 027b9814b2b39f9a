package main

import (
	"io"

	"github.com/spf13/cobra"

	"hatchel/cmd/hatchel/importer/curl"
)

func importCurlCommand() *cobra.Command {
	var f importFlags
	var name string
	cmd := &cobra.Command{
		Use:   "curl [-- curl ARGUMENT...]",
		Short: "Write a tool for a curl command",
		Long: `Write a tool for a curl command, given behind -- or on standard input, and a
connection for its host. Words of the path that look like ids, parameters of the query
and members of the body become inputs; constant headers stay. A credential becomes a
secret, and its value is never written. The command is not run.`,
		Example: `  hatchel import curl -- curl 'https://api.example.com/orders?status=open' -u ada:pw
  hatchel import curl -o ./tools --name open_order < command.txt`,
		RunE: func(cmd *cobra.Command, args []string) error {
			words := args
			if len(args) == 0 {
				src, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), 5<<20))
				if err != nil {
					return failf("standard input cannot be read: %s", reason(err))
				}
				if words, err = curl.Split(string(src)); err != nil {
					return misusef("%s", err)
				}
			}
			r, err := curl.Import(words, name)
			if err != nil {
				return misusef("%s", err)
			}
			return f.write(cmd, r)
		},
	}
	f.registerOutput(cmd)
	cmd.Flags().StringVar(&name, "name", "", "`NAME` of the tool; by default from the method and the path")
	return cmd
}
