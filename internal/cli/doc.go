// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package cli is the command line of kubectl-pintle. A command reads with package view/read, makes
// a view, and prints it with package text, or as JSON or YAML.
//
// Files, top-down:
//
//	root.go    Command: all commands
//	run.go     run: hooks
//	history.go history
//	diff.go    diff
//	values.go  values
//	tree.go    tree
//	plan.go    plan, approve, reject, override
//	doctor.go  doctor
//	act.go     reconcile, suspend, resume, rollback, unhold, test
//	create.go  create release
//	releaseflags.go the objects that its flags describe
//	get.go     get
//	lists.go   operations, plans, policies
//	complete.go completion of arguments
//	names.go   arguments that name releases, and similar names
//	why.go     why
//	watch.go   get --watch
//	logs.go    logs of the Pods of an Operation
//	output.go  flag --output, and colours
//	session.go flags of kubectl, and clients
//	portforward.go requests to Services through the API server and a Pod
package cli
