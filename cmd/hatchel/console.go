package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func consoleCommand() *cobra.Command {
	var address string
	var printOnly bool
	var f signInFlags
	cmd := &cobra.Command{
		Use:   "console",
		Short: "Open the console of a running server in a browser, signed in",
		Long: `Ask a running server for an address that signs a browser in to its console, print
the address, and open it. The address can be used once, within 60 seconds.

Without an auth block the server must be on this machine. The server needs a console
block, or the flag --console.

` + keyHelp,
		Example: `  hatchel console
  hatchel console --server https://tools.example
  hatchel console --print`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := f.newClient(cmd, address)
			if err != nil {
				return err
			}
			defer client.Close()
			page, err := client.ConsoleAddress(cmd.Context())
			if err != nil {
				return failf("%s", err)
			}
			fmt.Fprintln(cmd.OutOrStdout(), page)
			if !printOnly && !openBrowser(cmd.Context(), page) {
				fmt.Fprintln(cmd.ErrOrStderr(), "hatchel: no browser was opened: open the address within 60 seconds")
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&address, "server", "http://127.0.0.1:8080", "`URL` of the server, or of the console's "+
		"own listener")
	f.register(cmd)
	cmd.Flags().BoolVar(&printOnly, "print", false, "print the address only; do not open it")
	return cmd
}
