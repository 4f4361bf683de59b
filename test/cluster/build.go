// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

const launcher = "cluster"

// module is the folder of the Go module with all programs of the cluster. One module has one version
// of each library, so that each package is compiled once.
const module = "test/cluster"

// product is one executable of the built folder.
type product struct {
	name    string
	what    string // for people
	pkg     string
	modfile string
	tags    string
	ldflags string
	sources []string // globs within the module, of local code the product contains
}

// Every flag is part of the Go build cache's key for a few thousand packages. After a change of a
// flag, or a build of the same packages elsewhere with other flags, the next build starts from
// nothing. They are the flags of the Makefile.
var buildFlags = []string{"-trimpath", "-buildvcs=false", "-gcflags=all=-dwarf=false"}

// kubernetesVersion is a version of Kubernetes that can be built.
type kubernetesVersion struct {
	modfile, version, minor string
}

var requiredKubernetes = regexp.MustCompile(`(?m)^(?:require |\t)k8s\.io/kubernetes (v1\.([0-9]+)\.[0-9]+)$`)

// kubernetes returns the version of Kubernetes that a file within the module requires.
func (b *builder) kubernetes(modfile string) (kubernetesVersion, error) {
	data, err := os.ReadFile(filepath.Join(b.root, module, modfile))
	if err != nil {
		return kubernetesVersion{}, err
	}
	found := requiredKubernetes.FindSubmatch(data)
	if found == nil {
		return kubernetesVersion{}, fmt.Errorf("%s does not require k8s.io/kubernetes", modfile)
	}
	return kubernetesVersion{modfile: modfile, version: string(found[1]), minor: string(found[2])}, nil
}

// flags set the version of a Kubernetes executable.
func (v kubernetesVersion) flags() string {
	variables := "k8s.io/component-base/version."
	return "-s -w -X " + variables + "gitVersion=" + v.version +
		" -X " + variables + "gitMajor=1 -X " + variables + "gitMinor=" + v.minor
}

// kubelet is apart from the other products: only a real node needs it.
func (v kubernetesVersion) kubelet() product {
	return product{
		name: kubelet, what: "the kubelet (Kubernetes " + v.version + ")", pkg: "./kubelet", modfile: v.modfile,
		sources: []string{"kubelet/*.go"}, ldflags: v.flags(),
	}
}

// servers are the programs of Kubernetes of another version than the other programs.
func (v kubernetesVersion) servers() product {
	return product{
		name: kubernetesServers, what: "the servers of Kubernetes " + v.version, pkg: "./controlplane", modfile: v.modfile,
		tags: "servers", sources: []string{"controlplane/*.go"}, ldflags: v.flags(),
	}
}

// products are the executables of a cluster. The control plane is built without kubectl if there is
// one already.
func (v kubernetesVersion) products(withKubectl bool) []product {
	plane := product{
		name: controlPlane, what: "the control plane (etcd, Kubernetes " + v.version + ", kwok)",
		pkg: "./controlplane", modfile: v.modfile, sources: []string{"controlplane/*.go"}, ldflags: v.flags(),
	}
	if withKubectl {
		plane.tags = "kubectl"
	}
	return []product{
		{name: launcher, what: "the launcher", pkg: ".", modfile: goMod, ldflags: "-s -w", sources: []string{"*.go"}},
		plane,
		{name: sourceControllerName, what: "source-controller", pkg: sourceControllerModule, modfile: goMod, ldflags: "-s -w"},
	}
}

func runBuild(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("cluster build", flag.ContinueOnError)
	out := flags.String("out", "", "`directory` for the result (default <repository>/bin/cluster, or bin/kubernetes/MINOR)")
	node := flags.Bool("node", false, "also build the executables for `up --node`")
	minor := flags.String("kubernetes", "", "use the servers of Kubernetes of this `minor` version, such as 1.35")
	if err := parse(flags, args); err != nil {
		return err
	}
	root, err := repoRoot()
	if err != nil {
		return err
	}
	place := []string{"bin", "cluster"}
	if *minor != "" {
		place = []string{"bin", "kubernetes", *minor}
	}
	dir, err := inRepo(*out, place...)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, ".stamps"), 0o755); err != nil {
		return err
	}
	unlock, err := lockBuild(ctx, dir)
	if err != nil {
		return err
	}
	defer unlock()
	b := &builder{root: root, dir: dir, node: *node, minor: *minor}
	if b.toolchain, err = b.goOutput(ctx, "env", "GOVERSION", "GOOS", "GOARCH", "GOAMD64", "GOARM64", "GOEXPERIMENT"); err != nil {
		return err
	}
	return b.all(ctx)
}

type builder struct {
	root, dir string
	node      bool
	minor     string // of the servers of Kubernetes; empty for the version in go.mod
	toolchain []byte
	told      bool
}

func (b *builder) all(ctx context.Context) error {
	own, err := b.kubernetes(goMod)
	if err != nil {
		return err
	}
	installed := installedKubectl(b.dir)
	wanted, servers := own.products(installed == ""), controlPlane
	if b.node {
		wanted = append(wanted, own.kubelet())
	}
	if b.minor != "" {
		other, err := b.kubernetes(filepath.Join("kubernetes", b.minor+".mod"))
		if err != nil {
			return err
		}
		wanted, servers = append(wanted, other.servers()), kubernetesServers
	}
	for _, p := range wanted {
		if err := b.product(ctx, p); err != nil {
			return fmt.Errorf("%s: %w", p.what, err)
		}
	}
	if err := b.stages(ctx); err != nil {
		return fmt.Errorf("stages: %w", err)
	}
	if err := b.sourceCRDs(ctx); err != nil {
		return fmt.Errorf("source-controller's CRDs: %w", err)
	}
	for _, name := range controlPlaneLinks {
		target := controlPlane
		if strings.HasPrefix(name, "kube-") {
			target = servers
		}
		if err := link(target, filepath.Join(b.dir, name)); err != nil {
			return err
		}
	}
	return link(cmp.Or(installed, controlPlane), filepath.Join(b.dir, kubectl))
}

// installedKubectl returns the path of the kubectl on PATH; empty if there is none, or if it is the
// one in dir.
func installedKubectl(dir string) string {
	path, err := exec.LookPath(kubectl)
	if err != nil {
		return ""
	}
	if target, err := filepath.EvalSymlinks(path); err != nil || filepath.Base(target) == controlPlane || filepath.Dir(path) == dir {
		return ""
	}
	return path
}

func (b *builder) product(ctx context.Context, p product) error {
	key, err := b.key(p)
	if err != nil {
		return err
	}
	target := filepath.Join(b.dir, p.name)
	if b.upToDate(p.name, key, target) {
		return nil
	}
	if !b.told && p.name != launcher {
		progress("building into %s; with an empty Go build cache this takes 5 to 15 minutes on two cores", b.dir)
		b.told = true
	}
	tmp := filepath.Join(b.dir, fmt.Sprintf(".tmp-%s-%d", p.name, os.Getpid()))
	defer os.Remove(tmp)
	args := append([]string{"build", "-v"}, buildFlags...)
	args = append(args, "-modfile", p.modfile, "-tags", p.tags, "-ldflags", p.ldflags, "-o", tmp, p.pkg)
	start := time.Now()
	if err := b.goBuild(ctx, p, args); err != nil {
		return err
	}
	if err := os.Rename(tmp, target); err != nil {
		return err
	}
	progress("built %s in %s", p.what, time.Since(start).Round(time.Second))
	return b.stamp(p.name, key, target)
}

// key is a digest of all inputs of a product. Modules are pinned by go.sum and never replaced by
// local directories, so there are no other inputs. Comparing keys takes milliseconds; `go build`
// needs seconds to read all sources.
func (b *builder) key(p product) ([]byte, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%q\n%q\n%q\n%q\n", b.toolchain, buildFlags, p.tags, p.ldflags, p.pkg)
	for _, pattern := range append([]string{p.modfile, strings.TrimSuffix(p.modfile, ".mod") + ".sum"}, p.sources...) {
		if err := hashFiles(h, filepath.Join(b.root, module, pattern)); err != nil {
			return nil, err
		}
	}
	return h.Sum(nil), nil
}

func hashFiles(h io.Writer, pattern string) error {
	files, err := filepath.Glob(pattern)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("no file matches %s", pattern)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%s %d\n%s\n", filepath.Base(file), len(data), data)
	}
	return nil
}

// A stamp includes the size, so that a truncated or other file is rebuilt.
func stampText(key []byte, target string) (string, error) {
	info, err := os.Stat(target)
	if err != nil {
		return "", err
	}
	size := info.Size()
	if info.IsDir() {
		size = 0
	}
	return fmt.Sprintf("%x %d\n", key, size), nil
}

func (b *builder) upToDate(name string, key []byte, target string) bool {
	want, err := stampText(key, target)
	if err != nil {
		return false
	}
	got, err := os.ReadFile(filepath.Join(b.dir, ".stamps", name))
	return err == nil && string(got) == want
}

func (b *builder) stamp(name string, key []byte, target string) error {
	text, err := stampText(key, target)
	if err != nil {
		return err
	}
	return replaceFile(filepath.Join(b.dir, ".stamps", name), []byte(text), 0o644)
}

// lockBuild lets one build at a time into a directory; the other waits, and then
// finds everything up to date.
func lockBuild(ctx context.Context, dir string) (func(), error) {
	f, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for waiting := false; ; waiting = true {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
		}
		if !waiting {
			progress("waiting for another build into %s", dir)
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func link(target, path string) error {
	if have, err := os.Readlink(path); err == nil && have == target {
		return nil
	}
	tmp := fmt.Sprintf("%s.tmp-%d", path, os.Getpid())
	if err := os.Symlink(target, tmp); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}
