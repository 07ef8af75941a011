cd a && FOO=1 sudo -u x env -i bash -c "rm -rf $(cat b) > out.txt" || true; for i in *; do echo "$i"; done | xargs -0 rm
