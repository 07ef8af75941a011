cat <<'EOF' >> notes.md
rm -rf /
EOF
sed -i 's/a/b/' x.rs; git commit -m "$(cat <<E
text
E
)" # comment
[[ -f a ]] && { time timeout 5 nice -n 3 cp a\ b "c d"; } 2>&1 | tee -a log &
