// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestTakenPortIsNamed(t *testing.T) {
	p, lock, err := choosePorts()
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	l, err := net.Listen("tcp", p.apiServer())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	err = p.checkFree()
	if err == nil {
		t.Fatal("a taken port passed as free")
	}
	want := p.number(2) + " (kube-apiserver) is in use"
	if !strings.Contains(err.Error(), want) {
		t.Errorf("error %q does not say %q", err, want)
	}
}

func TestPortBaseOutOfRange(t *testing.T) {
	for _, base := range []int{-1, 80, 65527, 70000} {
		if err := (ports{Base: base}).checkFree(); err == nil {
			t.Errorf("port base %d was accepted", base)
		}
	}
}

func TestChosenPortsAreNotChosenTwice(t *testing.T) {
	seen := map[int]bool{}
	for range 20 {
		p, lock, err := choosePorts()
		if err != nil {
			t.Fatal(err)
		}
		defer lock.Close()
		if seen[p.Base] {
			t.Fatalf("port base %d was chosen twice", p.Base)
		}
		seen[p.Base] = true
	}
}

// A recorded number that now belongs to another process must never be signalled.
func TestOnlyTheRecordedProcessIsSignalled(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waited := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(waited)
	}()
	defer func() { _ = cmd.Process.Kill() }()

	real, err := identify(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	stranger := identity{PID: real.PID, Started: real.Started - 1}
	if err := stranger.signal(os.Kill); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("signal to a stranger: %v", err)
	}
	if err := stranger.end(time.Second); err != nil {
		t.Errorf("end of a stranger: %v", err)
	}
	select {
	case <-waited:
		t.Fatal("the stranger was killed")
	case <-time.After(100 * time.Millisecond):
	}
	if !real.alive() {
		t.Fatal("the process is gone")
	}
	if err := real.end(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	<-waited
	if real.alive() {
		t.Error("an ended process counts as alive")
	}
}

func TestKubeconfigHoldsCertificatesThatVerify(t *testing.T) {
	dir := t.TempDir()
	if err := writePKI(dir, "https://127.0.0.1:12345"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "admin.kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	field := func(name string) []byte {
		t.Helper()
		found := regexp.MustCompile(`(?m)^    ` + name + `: (\S+)$`).FindSubmatch(text)
		if found == nil {
			t.Fatalf("the kubeconfig has no %s:\n%s", name, text)
		}
		data, err := base64.StdEncoding.DecodeString(string(found[1]))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return data
	}
	if !strings.Contains(string(text), `server: "https://127.0.0.1:12345"`) {
		t.Errorf("the kubeconfig does not name the server:\n%s", text)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(field("certificate-authority-data")) {
		t.Fatal("no CA")
	}
	admin, err := tls.X509KeyPair(field("client-certificate-data"), field("client-key-data"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := admin.Leaf.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		t.Errorf("client certificate: %v", err)
	}
	if got := admin.Leaf.Subject.Organization; len(got) != 1 || got[0] != "system:masters" {
		t.Errorf("the administrator's groups are %q", got)
	}
	serving, err := tls.LoadX509KeyPair(filepath.Join(dir, "serving.crt"), filepath.Join(dir, "serving.key"))
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"127.0.0.1", "10.96.0.1", "kubernetes.default.svc"} {
		if _, err := serving.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host}); err != nil {
			t.Errorf("serving certificate for %s: %v", host, err)
		}
	}
}

func TestArtifactsAreFetchedWhereAsked(t *testing.T) {
	r := request{Ports: ports{Base: 20000}}
	advertised := func() string {
		args := r.sourceController().args
		return args[slices.Index(args, "--storage-adv-addr")+1]
	}
	if got := advertised(); got != r.Ports.sourceArtifacts() {
		t.Errorf("artifacts are at %s, want them where they are served", got)
	}
	r.SourceAdvertise = "127.0.0.1:9"
	if got := advertised(); got != r.SourceAdvertise {
		t.Errorf("artifacts are at %s, want them at the proxy", got)
	}
}

func TestForeignFilesAreRefused(t *testing.T) {
	dir := t.TempDir()
	precious := filepath.Join(dir, "precious")
	if err := os.WriteFile(precious, []byte("apiVersion: v1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := claimState(dir); err == nil {
		t.Error("a directory with other files was used as a state directory")
	}
	if err := takeDown(dir); err == nil {
		t.Error("a directory with other files was removed")
	}
	if err := checkKubeconfig(precious); err == nil {
		t.Error("a user's kubeconfig would be overwritten")
	}
	if _, err := os.Stat(precious); err != nil {
		t.Error(err)
	}
}

func TestRunningStateIsRefused(t *testing.T) {
	dir := t.TempDir()
	lock, err := claimState(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := claimState(dir); err == nil || !strings.Contains(err.Error(), "is running in "+dir) {
		t.Errorf("a second claim: %v", err)
	}
	lock.Close()
	lock, err = claimState(dir)
	if err != nil {
		t.Fatalf("a claim after the end of the first: %v", err)
	}
	lock.Close()
}

func TestBuildOutputSeparatesErrorsFromProgress(t *testing.T) {
	var out buildOutput
	for _, part := range []string{"go: downloading a/b v1\nk8s.io/", "api\n# x\nmain.go:1:2: wrong", " thing\n"} {
		if _, err := out.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := out.status(), "1 packages compiled"; got != want {
		t.Errorf("status %q, want %q", got, want)
	}
	if got, want := out.rest(), "# x\nmain.go:1:2: wrong thing"; got != want {
		t.Errorf("rest %q, want %q", got, want)
	}
}
